import { WasmError } from '../error.ts';
import type { CallState } from './call-state.ts';
import { type Crossing, crossingOf } from './crossing.ts';
import type { HostTable } from './host.ts';
import type { ModuleImport, Recipe } from './recipe.ts';
import { isSameSignature, writeSignature } from './value.ts';

type ImportValue = Crossing | WebAssembly.Memory | undefined;
type ImportValues = Record<string, ImportValue>;

/** What V8 is given to resolve a module's imports from. No prototypes: a name finds what was put there or nothing. */
export type ImportObject = Record<string, ImportValues>;

/** Checks every import of a module against the table; V8 links only when all of them match, type for type. */
export function link(recipe: Recipe, hosts: HostTable, state: CallState): ImportObject {
  const object = emptyObject<ImportValues>();
  const memories = new Set<string>();
  for (const each of recipe.imports) {
    const key = `${each.module}.${each.name}`;
    if (each.kind === 'function') {
      const row = requireRow(each, hosts, recipe);
      const isCharged = recipe.hostCharged.has(key);
      put(object, each, crossingOf(row, { state, isCharged, isDeterministic: recipe.isDeterministic }));
    } else if (each.kind === 'memory') {
      // The slot makes it, under the limits of the guest; one name for two memories would make them one.
      if (memories.has(key)) throw unlinkable(key, 'is imported twice', 'a name for each memory');
      memories.add(key);
    } else {
      throw unlinkable(key, `is a ${each.kind}`, 'a function or a memory');
    }
  }
  return object;
}

type ImportName = { readonly module: string; readonly name: string };

/** Sets one import where V8 looks for it, or removes it. */
export function put(object: ImportObject, { module, name }: ImportName, value: ImportValue): void {
  const values = object[module] ?? emptyObject<ImportValue>();
  values[name] = value;
  object[module] = values;
}

function requireRow(wanted: ModuleImport & { kind: 'function' }, hosts: HostTable, recipe: Recipe) {
  const key = `${wanted.module}.${wanted.name}`;
  const row = hosts.find(wanted.module, wanted.name);
  // Boundary: what was not granted does not exist.
  if (row === undefined) throw unlinkable(key, 'is in no host table', 'a function that was granted');
  if (!isSameSignature(wanted, row)) {
    throw unlinkable(key, `is wanted as ${writeSignature(wanted)}`, writeSignature(row));
  }
  const compiledFuel = recipe.hostFuel[key] ?? 0;
  if (row.fuel !== compiledFuel) {
    throw unlinkable(key, `costs ${row.fuel} fuel`, `the ${compiledFuel} that the module was compiled with`);
  }
  return row;
}

function emptyObject<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

function unlinkable(key: string, is: string, expected: string): WasmError {
  return new WasmError('link', `Cannot link ${JSON.stringify(key)}: it ${is}, expected ${expected}`, {
    detail: key,
  });
}
