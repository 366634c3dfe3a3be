import type { Limits, Usage } from '@palisade/sdk';

export type { Limits, Usage };

/** The limits of a call unless less is requested. */
export const DEFAULT_LIMITS: Limits = {
  wallMs: 30_000,
  cpuMs: 30_000,
  fuel: 10_000_000,
  memoryBytes: 64 * 1024 * 1024,
  outputBytes: 1024 * 1024,
  egressBytes: 16 * 1024 * 1024,
};

/** The ceilings for every call, whatever a tool or a caller requests. */
export const LIMIT_CEILINGS: Limits = {
  wallMs: 60 * 60_000,
  cpuMs: 2 * 60 * 60_000,
  fuel: 10_000_000_000,
  memoryBytes: 4 * 1024 * 1024 * 1024,
  outputBytes: 64 * 1024 * 1024,
  egressBytes: 1024 * 1024 * 1024,
};

export const NO_USAGE: Usage = { calls: 0, wallMs: 0, cpuMs: 0, fuel: 0, outputBytes: 0, egressBytes: 0 };

/** The lower of the two in every term. Limits are only ever narrowed. */
export function narrow(limits: Limits, by: Partial<Limits>): Limits {
  const narrowed: Record<string, number> = { ...limits };
  for (const [term, value] of Object.entries(by)) {
    // Boundary: a limit that is not a positive number counts as zero, never as "no limit".
    const cap = typeof value === 'number' && value > 0 ? value : 0;
    narrowed[term] = Math.min(narrowed[term] ?? 0, cap);
  }
  return narrowed as Limits;
}
