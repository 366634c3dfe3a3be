/** Looks at a module without running, rewriting or compiling it. */
import { CEILINGS, DEFAULT_LIMITS, type Limits, narrowLimits } from './limits.ts';
import { survey } from './meter/survey.ts';
import { type Facts, inspectSections } from './read/facts.ts';
import { readModule } from './read/module.ts';

export type { Facts } from './read/facts.ts';

/** What an audit wants to know of a module. Throws a WasmError for bytes that are past a limit or no module. */
export function inspect(bytes: Uint8Array, limits: Partial<Limits> = {}): Facts {
  const within = narrowLimits(CEILINGS, { ...DEFAULT_LIMITS, ...limits });
  // Boundary: bytes that another thread can change are read once.
  const module = readModule(new Uint8Array(bytes), within);
  return inspectSections(module, survey(module, within));
}
