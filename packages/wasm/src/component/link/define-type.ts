import { WasmError } from '../../error.ts';
import { malformed } from '../../read/refusal.ts';
import type { TypeDefinition, TypeUse, ValueDefinition } from '../read/syntax.ts';
import { type Named, PLAIN_TYPES, type WitType } from '../types.ts';
import type { Scope, TypeItem, ValueType } from './items.ts';
import { take, viewOf } from './scope.ts';

/** Types written out, not shared: a pair of pairs of pairs … doubles with every line. */
const MOST_NODES = 10_000;
const MOST_DEPTH = 64;

/** The type that a definition means in its scope. */
export function defineType(scope: Scope, definition: TypeDefinition, offset: number): TypeItem {
  switch (definition.kind) {
    case 'func':
      return defineFunction(scope, definition, offset);
    case 'instance-type':
      return { sort: 'type', kind: 'instance', declarations: definition.declarations, outer: viewOf(scope) };
    case 'component-type':
      return { sort: 'type', kind: 'component' };
    default:
      return defineValue(scope, definition, offset);
  }
}

/** The work for a definition. */
export function effortOf(definition: TypeDefinition): number {
  switch (definition.kind) {
    case 'func':
      return 1 + definition.params.length;
    case 'record':
      return 1 + definition.fields.length;
    case 'variant':
      return 1 + definition.cases.length;
    case 'tuple':
      return 1 + definition.elements.length;
    case 'enum':
    case 'flags':
      return 1 + definition.names.length;
    default:
      return 1;
  }
}

function defineFunction(
  scope: Scope,
  { params, result }: Extract<TypeDefinition, { kind: 'func' }>,
  offset: number,
): TypeItem {
  const tally = newTally(offset);
  requireDistinct(
    params.map(([name]) => name),
    offset,
  );
  const typed = params.map(([name, type]): Named<WitType> => [name, use(scope, type, tally)]);
  const type = { params: typed, result: useOptional(scope, result, tally) };
  return { sort: 'type', kind: 'func', type, nodes: tally.nodes };
}

function defineValue(scope: Scope, definition: ValueDefinition, offset: number): ValueType {
  const tally = newTally(offset);
  const type = build(scope, definition, tally);
  return { sort: 'type', kind: 'value', type, nodes: tally.nodes, depth: tally.depth + 1 };
}

/** The size of the type that is being built. */
type Tally = { nodes: number; depth: number; readonly offset: number };

function newTally(offset: number): Tally {
  return { nodes: 1, depth: 0, offset };
}

function build(scope: Scope, definition: ValueDefinition, tally: Tally): WitType {
  switch (definition.kind) {
    case 'plain':
      return plain(definition.word, tally.offset);
    case 'list':
      return { kind: 'list', element: use(scope, definition.of, tally) };
    case 'option':
      return { kind: 'option', some: use(scope, definition.of, tally) };
    case 'tuple':
      return { kind: 'tuple', elements: definition.elements.map((each) => use(scope, each, tally)) };
    case 'record':
      requireDistinct(
        definition.fields.map(([name]) => name),
        tally.offset,
      );
      return {
        kind: 'record',
        fields: definition.fields.map(([name, type]) => [name, use(scope, type, tally)]),
      };
    case 'variant':
      requireDistinct(
        definition.cases.map(([name]) => name),
        tally.offset,
      );
      return {
        kind: 'variant',
        cases: definition.cases.map(([name, type]) => [name, useOptional(scope, type, tally)]),
      };
    case 'enum':
    case 'flags':
      requireDistinct(definition.names, tally.offset);
      count(tally, definition.names.length, 0);
      return { kind: definition.kind, names: definition.names };
    case 'result': {
      const ok = useOptional(scope, definition.ok, tally);
      return { kind: 'result', ok, error: useOptional(scope, definition.error, tally) };
    }
    default:
      return { kind: definition.kind, resource: resourceOf(scope, definition.type, tally.offset) };
  }
}

function plain(word: string, offset: number): WitType {
  const type = PLAIN_TYPES.find((each) => each === word);
  if (type === undefined) throw malformed(`"${word}" is not a type, expected one`, offset);
  return type;
}

function use(scope: Scope, type: TypeUse, tally: Tally): WitType {
  if (typeof type === 'string') {
    count(tally, 1, 1);
    return plain(type, tally.offset);
  }
  const item = take(scope, 'type', type, tally.offset);
  if (item.kind !== 'value') {
    throw malformed(`type ${type} is of kind ${item.kind}, expected a type of values`, tally.offset);
  }
  count(tally, item.nodes, item.depth);
  return item.type;
}

function useOptional(scope: Scope, type: TypeUse | null, tally: Tally): WitType | null {
  if (type === null) {
    count(tally, 1, 1);
    return null;
  }
  return use(scope, type, tally);
}

function count(tally: Tally, nodes: number, depth: number): void {
  tally.nodes += nodes;
  tally.depth = Math.max(tally.depth, depth);
  // Boundary: a type is a bounded tree to walk, however often its parts are shared.
  if (tally.nodes <= MOST_NODES && tally.depth < MOST_DEPTH) return;
  const message = `Cannot link component: a type has more than ${MOST_NODES} parts or ${MOST_DEPTH} levels, expected fewer`;
  throw new WasmError('limit', message, { offset: tally.offset, detail: 'component-type' });
}

/** `interface/name` of a resource of the world. */
function resourceOf(scope: Scope, index: number, offset: number): string {
  const item = take(scope, 'type', index, offset);
  if (item.kind !== 'resource') throw malformed(`type ${index} is not a resource, expected one`, offset);
  return `${item.interfaceName}/${item.name}`;
}

function requireDistinct(names: readonly string[], offset: number): void {
  // Boundary: two fields of one name would be one value to a reader by name.
  if (new Set(names).size !== names.length)
    throw malformed('two parts of a type have one name, expected two', offset);
}
