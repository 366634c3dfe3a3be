import { malformed } from '../../read/refusal.ts';
import { refused } from '../read/reading.ts';
import type { Alias, Sort } from '../read/syntax.ts';
import type { CoreInstance, CoreItem, Item, Scope, Spaces, View } from './items.ts';

type Outer = Extract<Alias, { kind: 'outer' }>;

export function newScope(outer: View | null): Scope {
  const spaces: Spaces = {
    function: [],
    table: [],
    memory: [],
    global: [],
    module: [],
    'core-instance': [],
    func: [],
    type: [],
    component: [],
    instance: [],
  };
  return { spaces, outer };
}

/** The scope as it is now, for what is defined in it now. */
export function viewOf(scope: Scope): View {
  const { type, component, module } = scope.spaces;
  return { scope, types: type.length, components: component.length, modules: module.length };
}

/** What has that index. */
export function take<S extends Sort>(
  scope: Scope,
  sort: S,
  index: number,
  offset: number,
): Spaces[S][number] {
  const item = scope.spaces[sort][index];
  // Boundary: an index refers only to earlier definitions.
  if (item === undefined) {
    throw malformed(`${sort} ${index} does not exist, expected one of ${scope.spaces[sort].length}`, offset);
  }
  return item;
}

/** Puts an item at the end of its index space. */
export function put(scope: Scope, item: Item | CoreItem | CoreInstance): void {
  const space: (Item | CoreItem | CoreInstance)[] = scope.spaces[item.sort];
  space.push(item);
}

/** What has that index in a scope further out, as far as it was defined when the inner scope was. */
function takeOuter(scope: Scope, { sort, count, index }: Outer, offset: number): Item {
  let inner = scope;
  let seen = viewOf(scope);
  for (let left = count; left > 0; left -= 1) {
    const outer = inner.outer;
    if (outer === null) throw malformed(`${count} scopes outward is nothing, expected a scope`, offset);
    seen = outer;
    inner = outer.scope;
  }
  const most = { type: seen.types, component: seen.components, module: seen.modules };
  if (sort !== 'type' && sort !== 'component' && sort !== 'module') {
    throw refused(`outer alias of a ${sort}`, offset);
  }
  // Boundary: nothing can name itself or what comes after it, so evaluation has no cycles.
  if (index >= most[sort]) {
    throw malformed(`${sort} ${index} does not exist there, expected one of ${most[sort]}`, offset);
  }
  return take(inner, sort, index, offset);
}

/** What an alias refers to. */
export function lookUp(scope: Scope, alias: Alias, offset: number): Item | CoreItem {
  if (alias.kind === 'outer') return takeOuter(scope, alias, offset);
  const sort = alias.kind === 'export' ? 'instance' : 'core-instance';
  const item = take(scope, sort, alias.instance, offset).exports.get(alias.name);
  if (item === undefined || item.sort !== alias.sort) {
    throw malformed(`an instance has no ${alias.sort} ${JSON.stringify(alias.name)}, expected one`, offset);
  }
  return item;
}
