import type { DoneHead, GuestLimits } from './engine-words.ts';

const ENDINGS: ReadonlySet<unknown> = new Set(['returned', 'failed', 'trapped']);

/**
 * What an engine says of the end of a call, or null where it makes no sense. Boundary: budgets are settled and receipts
 * signed with these numbers, so they are whole, and no more was used than there was.
 */
export function readDoneHead(raw: unknown, limits: GuestLimits): DoneHead | null {
  if (typeof raw !== 'object' || raw === null) return null;
  const { ending, code, message, detail, fuelUsed, isExact, peakMemoryBytes, isLogCut } = raw as Partial<
    Record<keyof DoneHead, unknown>
  >;
  const isSound =
    ENDINGS.has(ending) &&
    [code, message, detail].every((text) => text === undefined || typeof text === 'string') &&
    isWhole(fuelUsed) &&
    fuelUsed <= limits.fuel &&
    isWhole(peakMemoryBytes) &&
    peakMemoryBytes <= limits.memoryBytes &&
    [isExact, isLogCut].every((flag) => typeof flag === 'boolean');
  return isSound ? (raw as DoneHead) : null;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
