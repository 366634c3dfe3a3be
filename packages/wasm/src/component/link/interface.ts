/** What a component imports from its world, as it describes it. Whether the world agrees is checked when it is used. */
import { malformed } from '../../read/refusal.ts';
import { refused } from '../read/reading.ts';
import type { Declaration, Extern } from '../read/syntax.ts';
import type { WitFunction } from '../types.ts';
import { defineType, effortOf } from './define-type.ts';
import type { CoreItem, Instance, Item, Scope, TypeItem } from './items.ts';
import { type Linking, spend } from './linking.ts';
import { unlinked } from './refuse.ts';
import { lookUp, newScope, put, take } from './scope.ts';

/** Where the functions and resources are that a world has outside of any interface. */
const ROOT = '$root';

/** What the outermost component imports: an interface of the world, or an item outside of one. */
export function importFromWorld(
  linking: Linking,
  scope: Scope,
  { name, description }: Extern,
  offset: number,
): Item {
  if (description.kind === 'type') return take(scope, 'type', description.type, offset);
  if (description.kind === 'component') throw refused('import of a component', offset);
  const isInterface = description.kind === 'instance';
  // Boundary: what an interface is for is decided before its contents are read.
  if (!linking.world.knows(isInterface ? name : ROOT)) {
    throw unlinked(`it imports "${name}", expected only what its world has`, name, offset);
  }
  if (description.kind === 'resource') return { sort: 'type', kind: 'resource', interfaceName: ROOT, name };
  const type = take(scope, 'type', description.type, offset);
  if (isInterface) return describeInterface(linking, name, type, offset);
  return { sort: 'func', from: 'world', interfaceName: ROOT, name, type: functionType(type, offset) };
}

function functionType(type: TypeItem, offset: number): WitFunction {
  if (type.kind !== 'func') throw malformed(`a type is of kind ${type.kind}, expected a function`, offset);
  return type.type;
}

/** An interface of the world as the component describes it; its resources are known by its name. */
function describeInterface(
  linking: Linking,
  interfaceName: string,
  type: TypeItem,
  offset: number,
): Instance {
  if (type.kind !== 'instance')
    throw malformed(`a type is of kind ${type.kind}, expected an instance`, offset);
  const scope = newScope(type.outer);
  const exports = new Map<string, Item>();
  for (const declaration of type.declarations) {
    spend(linking, declaration.kind === 'type' ? effortOf(declaration.type) : 1, declaration.offset);
    put(scope, declare(scope, interfaceName, declaration, exports));
  }
  return { sort: 'instance', exports };
}

function declare(
  scope: Scope,
  interfaceName: string,
  declaration: Declaration,
  exports: Map<string, Item>,
): Item | CoreItem {
  const { offset } = declaration;
  if (declaration.kind === 'type') return defineType(scope, declaration.type, offset);
  if (declaration.kind === 'alias') return lookUp(scope, declaration.alias, offset);
  const { name } = declaration;
  if (exports.has(name)) throw malformed('two exports have one name, expected two', offset);
  const item = describe(scope, interfaceName, declaration, offset);
  exports.set(name, item);
  return item;
}

function describe(scope: Scope, interfaceName: string, { name, description }: Extern, offset: number): Item {
  switch (description.kind) {
    case 'resource':
      return { sort: 'type', kind: 'resource', interfaceName, name };
    case 'type':
      return take(scope, 'type', description.type, offset);
    case 'func': {
      const type = functionType(take(scope, 'type', description.type, offset), offset);
      return { sort: 'func', from: 'world', interfaceName, name, type };
    }
    default:
      throw refused(`${description.kind} inside an interface`, offset);
  }
}
