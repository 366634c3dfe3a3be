/**
 * A small abstract machine for the definitions of a component. Each adds one item to an index space; nested component
 * instances are evaluated when they are instantiated, with their arguments in place of imports. Nothing runs: the
 * result is a list of core instances with everything resolved, and the exports of the outermost component.
 */
import { malformed } from '../../read/refusal.ts';
import { requireDepth } from '../read/reading.ts';
import type { ComponentSyntax, Definition, Extern, Instantiation, NamedIndex } from '../read/syntax.ts';
import { makeCanon } from './canon.ts';
import { makeCoreInstance } from './core-instance.ts';
import { defineType, effortOf } from './define-type.ts';
import { importFromWorld } from './interface.ts';
import type { CoreInstance, CoreItem, Instance, Item, Scope, View } from './items.ts';
import { type Linking, spend } from './linking.ts';
import { lookUp, newScope, put, take, viewOf } from './scope.ts';

type Frame = {
  readonly linking: Linking;
  readonly scope: Scope;
  /** The arguments of an inner component; the outermost has none and imports from the world. */
  readonly args: ReadonlyMap<string, Item> | null;
  readonly imported: Set<string>;
  readonly exports: Map<string, Item>;
  readonly depth: number;
};

/** Evaluates the outermost component. */
export function evaluate(linking: Linking, syntax: ComponentSyntax): Instance {
  return run(linking, syntax, { outer: null, args: null, depth: 0 });
}

type Start = {
  readonly outer: View | null;
  readonly args: ReadonlyMap<string, Item> | null;
  readonly depth: number;
};

function run(linking: Linking, syntax: ComponentSyntax, { outer, args, depth }: Start): Instance {
  const exports = new Map<string, Item>();
  const frame = { linking, scope: newScope(outer), args, imported: new Set<string>(), exports, depth };
  for (const definition of syntax.definitions) {
    spend(linking, definition.kind === 'type' ? effortOf(definition.type) : 1, definition.offset);
    put(frame.scope, make(frame, definition));
  }
  return { sort: 'instance', exports };
}

/** What a definition puts at the end of its index space. */
function make(frame: Frame, definition: Definition): Item | CoreItem | CoreInstance {
  const { linking, scope } = frame;
  const { offset } = definition;
  switch (definition.kind) {
    case 'module':
      return { sort: 'module', start: definition.start, end: definition.end };
    case 'component':
      return { sort: 'component', syntax: definition.component, outer: viewOf(scope) };
    case 'core-instance':
      return makeCoreInstance(linking, scope, definition.made, offset);
    case 'instance':
      return makeInstance(frame, definition.made, offset);
    case 'alias':
      return lookUp(scope, definition.alias, offset);
    case 'type':
      return defineType(scope, definition.type, offset);
    case 'canon':
      return makeCanon(linking, scope, definition.canon, offset);
    case 'import':
      return importItem(frame, definition, offset);
    case 'export':
      return exportItem(frame, definition, offset);
  }
}

function makeInstance(frame: Frame, made: Instantiation, offset: number): Instance {
  const entries = made.kind === 'bag' ? made.exports : made.args;
  spend(frame.linking, 1 + entries.length, offset);
  const items = new Map<string, Item>();
  for (const entry of entries) {
    if (items.has(entry.name))
      throw malformed('two entries of an instance have one name, expected two', offset);
    items.set(entry.name, itemAt(frame.scope, entry, offset));
  }
  if (made.kind === 'bag') return { sort: 'instance', exports: items };
  const { syntax, outer } = take(frame.scope, 'component', made.of, offset);
  requireDepth(frame.depth + 1, offset);
  return run(frame.linking, syntax, { outer, args: items, depth: frame.depth + 1 });
}

function itemAt(scope: Scope, { sort, index }: NamedIndex, offset: number): Item {
  switch (sort) {
    case 'module':
    case 'func':
    case 'type':
    case 'component':
    case 'instance':
      return take(scope, sort, index, offset);
    default:
      throw malformed(`a ${sort} is passed or exported, expected an item of a component`, offset);
  }
}

/** An export has an index of its own, by which later definitions can name it. */
function exportItem(frame: Frame, entry: NamedIndex, offset: number): Item {
  if (frame.exports.has(entry.name)) throw malformed('two exports have one name, expected two', offset);
  const item = itemAt(frame.scope, entry, offset);
  frame.exports.set(entry.name, item);
  return item;
}

function importItem(frame: Frame, { name, description }: Extern, offset: number): Item {
  if (frame.imported.has(name)) throw malformed('two imports have one name, expected two', offset);
  frame.imported.add(name);
  const sort = description.kind === 'resource' ? 'type' : description.kind;
  if (frame.args === null) return importFromWorld(frame.linking, frame.scope, { name, description }, offset);
  const item = frame.args.get(name);
  if (item?.sort === sort) return item;
  throw malformed(
    `an inner component is not passed the ${sort} ${JSON.stringify(name)}, expected it`,
    offset,
  );
}
