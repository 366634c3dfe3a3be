/**
 * The linker of components. It takes untrusted bytes and the world they must fit, and returns one core module that
 * passes through the same reader, meter and limits as every other. A component is read into plain data, evaluated by a
 * small machine that only looks things up, and its core modules are merged into one; nothing of it runs, and nothing is
 * allocated that is not proportional to its bytes. What the world lacks is refused by name before anything is merged.
 * Nothing here decides whether the result is valid: V8 and the meter do, as for every module.
 */
import { CEILINGS, DEFAULT_LIMITS, type Limits, narrowLimits } from '../limits.ts';
import { evaluate } from './link/evaluate.ts';
import { newLinking } from './link/linking.ts';
import { merge } from './link/merge.ts';
import { surfaceOf } from './link/surface.ts';
import { readComponent } from './read/component.ts';
import type { WitFunction, World, WorldImport } from './types.ts';

export { isComponent } from './read/component.ts';

export type LinkedComponent = {
  /** One core module. It imports functions only and exports `memory`, `realloc` and the functions of the world. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Functions of the world that it really imports, in the order of its imports. */
  readonly imports: readonly WorldImport[];
  readonly exports: readonly { readonly name: string; readonly type: WitFunction }[];
};

/** Links a component into one core module. Throws a WasmError for whatever it refuses, and nothing else. */
export function linkComponent(raw: Uint8Array, world: World, limits: Partial<Limits> = {}): LinkedComponent {
  // Boundary: bytes that another thread can change are read once.
  const bytes = new Uint8Array(raw);
  const allowed = narrowLimits(CEILINGS, { ...DEFAULT_LIMITS, ...limits });
  const linking = newLinking(bytes, world, allowed);
  const root = evaluate(linking, readComponent(bytes, allowed));
  const surface = surfaceOf(world, root, linking.instances);
  return {
    bytes: merge(linking.instances, surface, allowed),
    imports: surface.imports,
    exports: surface.exports.map(({ name, type }) => ({ name, type })),
  };
}
