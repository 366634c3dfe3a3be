/** Core instances: modules with their imports looked up, and bags of names. */
import { WasmError } from '../../error.ts';
import type { FunctionType, Import, WasmModule } from '../../read/module.ts';
import { readModule } from '../../read/module.ts';
import { malformed } from '../../read/refusal.ts';
import { writeFunctionType, writeGlobal, writeMemory, writeTable } from '../../read/signature.ts';
import type { Instantiation } from '../read/syntax.ts';
import type { CoreInstance, CoreItem, CoreModule, Scope } from './items.ts';
import { countBytes, countParts, type Linking, spend } from './linking.ts';
import { unlinked } from './refuse.ts';
import { take } from './scope.ts';

export function makeCoreInstance(
  linking: Linking,
  scope: Scope,
  made: Instantiation,
  offset: number,
): CoreInstance {
  spend(linking, 1 + (made.kind === 'bag' ? made.exports : made.args).length, offset);
  return made.kind === 'bag'
    ? makeBag(scope, made.exports, offset)
    : instantiate(linking, scope, made, offset);
}

function makeBag(
  scope: Scope,
  entries: Extract<Instantiation, { kind: 'bag' }>['exports'],
  offset: number,
): CoreInstance {
  const exports = new Map<string, CoreItem>();
  for (const { name, sort, index } of entries) {
    if (exports.has(name)) throw malformed('two exports have one name, expected two', offset);
    if (sort === 'function' || sort === 'table' || sort === 'memory' || sort === 'global') {
      exports.set(name, take(scope, sort, index, offset));
    }
  }
  return { sort: 'core-instance', exports };
}

function instantiate(
  linking: Linking,
  scope: Scope,
  made: Extract<Instantiation, { kind: 'instantiate' }>,
  offset: number,
): CoreInstance {
  const args = new Map<string, CoreInstance>();
  for (const { name, index } of made.args) {
    if (args.has(name)) throw malformed('two arguments have one name, expected two', offset);
    args.set(name, take(scope, 'core-instance', index, offset));
  }
  const range = take(scope, 'module', made.of, offset);
  countBytes(linking, range.end - range.start, offset);
  const module = moduleIn(linking, range);
  countParts(linking, module, offset);
  spend(linking, 1 + module.exports.length + module.imports.length, offset);
  const imports = module.imports.map((each) => supply(module, each, args.get(each.module), offset));
  const instance = linking.instances.push({ module, imports }) - 1;
  return { sort: 'core-instance', exports: exportsOf(module, imports, instance) };
}

/** Reads a module once, with offsets in the messages that are those of the whole file. */
function moduleIn(linking: Linking, { start, end }: CoreModule): WasmModule {
  const known = linking.modules.get(start);
  if (known !== undefined) return known;
  try {
    const module = readModule(linking.bytes.subarray(start, end), linking.limits);
    linking.modules.set(start, module);
    return module;
  } catch (error) {
    throw shifted(error, start);
  }
}

/** The same error with its offset counted from the start of the file. */
export function shifted(error: unknown, by: number): unknown {
  if (!(error instanceof WasmError) || error.offset === undefined) return error;
  const message = error.message.replace(/ \(at byte \d+\)$/, '');
  const detail = error.detail === undefined ? {} : { detail: error.detail };
  return new WasmError(error.code, message, { offset: error.offset + by, ...detail });
}

/** What an import of a module refers to. */
function supply(
  module: WasmModule,
  wanted: Import,
  from: CoreInstance | undefined,
  offset: number,
): CoreItem {
  const name = `${wanted.module}.${wanted.name}`;
  const item = from?.exports.get(wanted.name);
  if (item === undefined)
    throw unlinked(`a module imports "${name}", expected something of that name`, name, offset);
  // Boundary: what replaces an import has the import's type.
  if (item.sort !== wanted.kind || !fits(item, module, wanted)) {
    throw unlinked(`"${name}" is ${writeItem(item)}, expected ${wantedType(module, wanted)}`, name, offset);
  }
  return item;
}

function fits(item: CoreItem, module: WasmModule, { index }: Import): boolean {
  switch (item.sort) {
    case 'function': {
      const wanted = module.types[module.functions[index] ?? -1];
      return wanted !== undefined && isSameType(item.type, wanted);
    }
    case 'table': {
      const wanted = module.tables[index];
      return wanted !== undefined && wanted.reference === item.type.reference && holds(item.type, wanted);
    }
    case 'memory': {
      const wanted = module.memories[index];
      return wanted !== undefined && holds(item.type, wanted);
    }
    case 'global': {
      const wanted = module.globals[index];
      return wanted?.type === item.type.type && wanted.mutable === item.type.mutable;
    }
  }
}

/** Not by their texts: a small component imports one long type hundreds of thousands of times. */
function isSameType(one: FunctionType, other: FunctionType): boolean {
  return one === other || (isSameList(one.params, other.params) && isSameList(one.results, other.results));
}

function isSameList(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((type, index) => type === other[index]);
}

type Extent = { readonly min: number; readonly max: number | undefined };

function holds(found: Extent, wanted: Extent): boolean {
  return found.min >= wanted.min && (wanted.max === undefined || (found.max ?? Infinity) <= wanted.max);
}

function writeItem(item: CoreItem): string {
  switch (item.sort) {
    case 'function':
      return writeFunctionType(item.type);
    case 'table':
      return writeTable(item.type);
    case 'memory':
      return writeMemory(item.type);
    case 'global':
      return writeGlobal(item.type);
  }
}

function writeFunctionAt(module: WasmModule, index: number): string {
  const type = module.types[module.functions[index] ?? -1];
  return type === undefined ? 'a function' : writeFunctionType(type);
}

function wantedType(module: WasmModule, { kind, index }: Import): string {
  if (kind === 'function') return writeFunctionAt(module, index);
  const table = module.tables[index];
  const memory = module.memories[index];
  const global = module.globals[index];
  if (kind === 'table' && table !== undefined) return writeTable(table);
  if (kind === 'memory' && memory !== undefined) return writeMemory(memory);
  return global === undefined ? `a ${kind}` : writeGlobal(global);
}

/** The exports of an instance, each by where it is really defined. */
function exportsOf(
  module: WasmModule,
  imports: readonly CoreItem[],
  instance: number,
): ReadonlyMap<string, CoreItem> {
  const supplied = new Map<string, CoreItem>();
  module.imports.forEach(({ kind, index }, position) => {
    const item = imports[position];
    if (item !== undefined) supplied.set(`${kind} ${index}`, item);
  });
  const exports = new Map<string, CoreItem>();
  for (const { name, kind, index } of module.exports) {
    const item = supplied.get(`${kind} ${index}`) ?? definedAt(module, kind, instance, index);
    if (item !== undefined) exports.set(name, item);
  }
  return exports;
}

function definedAt(
  module: WasmModule,
  kind: CoreItem['sort'],
  instance: number,
  index: number,
): CoreItem | undefined {
  if (kind === 'function') {
    const type = module.types[module.functions[index] ?? -1];
    return type && { sort: kind, from: 'instance', instance, index, type };
  }
  if (kind === 'table') {
    const type = module.tables[index];
    return type && { sort: kind, instance, index, type };
  }
  if (kind === 'memory') {
    const type = module.memories[index];
    return type && { sort: kind, instance, index, type };
  }
  const type = module.globals[index];
  return type && { sort: kind, instance, index, type };
}
