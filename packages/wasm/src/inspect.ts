/** Inspects a module without running, rewriting or compiling it. */
import { CEILINGS, DEFAULT_LIMITS, type Limits, narrowLimits } from './limits.ts';
import { survey } from './meter/survey.ts';
import { type Facts, inspectSections } from './read/facts.ts';
import { readModule } from './read/module.ts';

export type { Facts } from './read/facts.ts';

/** The facts of a module for an audit. Throws a WasmError for bytes that exceed a limit or are not a module. */
export function inspect(bytes: Uint8Array, limits: Partial<Limits> = {}): Facts {
  const within = narrowLimits(CEILINGS, { ...DEFAULT_LIMITS, ...limits });
  // Boundary: bytes that another thread can change are read once.
  const module = readModule(new Uint8Array(bytes), within);
  return inspectSections(module, survey(module, within));
}
