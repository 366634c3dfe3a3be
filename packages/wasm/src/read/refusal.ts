import { WasmError } from '../error.ts';
import { type FeatureName, requireFeature } from '../features.table.ts';
import type { Limits } from '../limits.ts';

/** The error for bytes that are not a module; `what` is `<what is>, expected <what should be>`. */
export function malformed(what: string, offset: number): WasmError {
  return new WasmError('malformed', `Cannot read module: ${what}`, { offset });
}

/** Refuses a module that has more of something than it may. */
export function requireWithin(key: keyof Limits, found: number, limits: Limits, offset: number): void {
  // Boundary: every count of a module passes here before anything is allocated for it.
  if (found <= limits[key]) return;
  const message = `Cannot read module: its "${key}" would be ${found}, expected at most ${limits[key]}`;
  throw new WasmError('limit', message, { detail: key, offset });
}

/** Refuses what the reader does not support: as a feature if the gate refuses it, otherwise as malformed. */
export function unsupported(name: FeatureName, offset: number): never {
  requireFeature(name, offset);
  throw malformed(`it uses "${name}" in a way that is not known, expected a form that is`, offset);
}
