import { textOf, wrongUsage } from '../../input.ts';
import type { Invocation } from '../../verb.ts';

const UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const LONGEST_MS = 100 * 366 * 86_400_000;

/** When --expires says that a key ends: a date, which ends when it begins in UTC, or how long from now; null: never. */
export function expiryOf(invocation: Invocation): number | null {
  const raw = textOf(invocation, 'expires');
  if (raw === undefined) return null;
  const nowMs = invocation.edge.clock.nowMs();
  const atMs = readDuration(raw, nowMs) ?? readDate(raw);
  if (atMs === null)
    throw wrongUsage(
      `Cannot use --expires "${raw}": expected a date as 2027-01-31 or a time as 12h, 90d or 52w`,
    );
  if (atMs <= nowMs) throw wrongUsage(`Cannot use --expires "${raw}": it is past, expected a time to come`);
  if (atMs - nowMs > LONGEST_MS)
    throw wrongUsage(`Cannot use --expires "${raw}": expected no more than a hundred years`);
  return atMs;
}

function readDuration(raw: string, nowMs: number): number | null {
  const [, digits = '', unit = ''] = /^([1-9][0-9]{0,5})([hdw])$/.exec(raw) ?? [];
  const unitMs = UNITS_MS[unit];
  return unitMs === undefined ? null : nowMs + Number(digits) * unitMs;
}

/** Boundary: a day that the calendar does not have is refused; the 31st of February is not the third of March. */
function readDate(raw: string): number | null {
  const ms = DATE.test(raw) ? Date.parse(raw) : Number.NaN;
  if (Number.isNaN(ms)) return null;
  const day = raw.slice(0, 10);
  return new Date(Date.parse(`${day}T00:00:00Z`)).toISOString().startsWith(day) ? ms : null;
}
