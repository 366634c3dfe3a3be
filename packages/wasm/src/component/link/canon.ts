/** Canonical functions: the boundary between a component and its host. */
import { malformed } from '../../read/refusal.ts';
import { writeFunctionType } from '../../read/signature.ts';
import { I32 } from '../../read/value-type.ts';
import { refused } from '../read/reading.ts';
import type { Canon, CanonOptions } from '../read/syntax.ts';
import { type Flat, flattenLift, flattenLower } from './flat.ts';
import type { CoreFunction, CoreMemory, Func, Scope } from './items.ts';
import { type Linking, spend } from './linking.ts';
import { unlinked } from './refuse.ts';
import { take } from './scope.ts';
import { isSameFunction, writeWit } from './wit.ts';

const REALLOC = '(i32, i32, i32, i32) -> i32';

export function makeCanon(linking: Linking, scope: Scope, canon: Canon, offset: number): CoreFunction | Func {
  switch (canon.kind) {
    case 'lift':
      return lift(linking, scope, canon, offset);
    case 'lower':
      return lower(linking, scope, canon, offset);
    case 'resource-drop':
      return dropper(linking, scope, canon.type, offset);
  }
}

function lift(linking: Linking, scope: Scope, canon: Extract<Canon, { kind: 'lift' }>, offset: number): Func {
  const core = take(scope, 'function', canon.func, offset);
  const type = take(scope, 'type', canon.type, offset);
  if (type.kind !== 'func') throw malformed(`type ${canon.type} is not a function, expected one`, offset);
  spend(linking, type.nodes, offset);
  const flat = flattenLift(type.type);
  const [found, expected] = [writeFunctionType(core.type), writeFunctionType(flat.type)];
  if (found !== expected) throw malformed(`a lifted function is ${found}, expected ${expected}`, offset);
  const options = resolve(scope, canon.options, flat, offset);
  return { sort: 'func', from: 'lift', type: type.type, lift: { core, ...options } };
}

/** A function that the component calls; it is the world's, of the world's type. */
function lower(
  linking: Linking,
  scope: Scope,
  canon: Extract<Canon, { kind: 'lower' }>,
  offset: number,
): CoreFunction {
  const func = take(scope, 'func', canon.func, offset);
  if (func.from === 'lift') throw refused('call of a function of another component', offset);
  const { interfaceName, name } = func;
  const full = `${interfaceName}#${name}`;
  const row = linking.world.find(interfaceName, name);
  // Boundary: what the world lacks does not exist, whatever the component declares.
  if (row === null)
    throw unlinked(`it imports "${full}", expected a function that its world has`, full, offset);
  if (!isSameFunction(func.type, row.type)) {
    throw unlinked(
      `it imports "${full}" as ${writeWit(func.type)}, expected ${writeWit(row.type)}`,
      full,
      offset,
    );
  }
  const flat = flattenLower(row.type);
  const options = resolve(scope, canon.options, flat, offset);
  return { sort: 'function', from: 'world', type: flat.type, lowered: { row, ...options } };
}

function dropper(linking: Linking, scope: Scope, index: number, offset: number): CoreFunction {
  const type = take(scope, 'type', index, offset);
  if (type.kind !== 'resource') throw malformed(`type ${index} is not a resource, expected one`, offset);
  const full = `${type.interfaceName}#[resource-drop]${type.name}`;
  const row = linking.world.find(type.interfaceName, `[resource-drop]${type.name}`);
  if (row === null)
    throw unlinked(`it imports "${full}", expected a function that its world has`, full, offset);
  const lowered = { row, memory: null, realloc: null };
  return { sort: 'function', from: 'world', type: { params: [I32], results: [] }, lowered };
}

/** The memory and the allocator, and a refusal where the types need a missing one. */
function resolve(
  scope: Scope,
  options: CanonOptions,
  { needsMemory, needsRealloc }: Flat,
  offset: number,
): { readonly memory: CoreMemory | null; readonly realloc: CoreFunction | null } {
  const memory = options.memory === null ? null : take(scope, 'memory', options.memory, offset);
  const realloc = options.realloc === null ? null : take(scope, 'function', options.realloc, offset);
  if (needsMemory && memory === null)
    throw malformed('a canonical function has no memory, expected one', offset);
  if (needsRealloc && realloc === null)
    throw malformed('a canonical function has no realloc, expected one', offset);
  // Boundary: a realloc runs while a host function is running, and then nothing may leave the guest.
  if (realloc?.from === 'world') throw refused('realloc that is an import', offset);
  if (realloc !== null && writeFunctionType(realloc.type) !== REALLOC) {
    throw malformed(`a realloc is ${writeFunctionType(realloc.type)}, expected ${REALLOC}`, offset);
  }
  return { memory, realloc };
}
