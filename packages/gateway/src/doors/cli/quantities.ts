import { isoTime } from '../../core/clock.ts';
import { LIMIT_CEILINGS, type Limits } from '../../core/limits.ts';
import type { LIMIT_NAMES } from '../../runner/input.ts';
import { numberOf, parsedOf, wrongUsage } from './input.ts';
import type { Invocation } from './verb.ts';

/** The units in which a quantity may be written, with their factors, and how messages describe them. */
type Measure = { readonly units: Readonly<Record<string, number>>; readonly like: string };

const BYTES: Measure = {
  units: { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 },
  like: 'bytes, or 64k, 512m, 2g',
};
const TIME: Measure = {
  units: { '': 1, ms: 1, s: 1_000, m: 60_000 },
  like: 'milliseconds, or 500ms, 10s, 2m',
};
const COUNT: Measure = { units: { '': 1 }, like: 'a whole number' };

const LONGEST_TIME_MS = 86_400_000;

type LimitKey = keyof typeof LIMIT_NAMES;

const MEASURES: Readonly<Record<LimitKey, Measure>> = {
  cpu_time_ms: TIME,
  memory_bytes: BYTES,
  output_bytes: BYTES,
  wall_ms: TIME,
  file_size_bytes: BYTES,
  processes: COUNT,
  open_files: COUNT,
  egress_bytes: BYTES,
};

/** The limits of all `--limit KEY=VALUE`, by the names of the tool. */
export function readLimits(raw: readonly string[]): Partial<Record<LimitKey, number>> {
  const limits: Partial<Record<LimitKey, number>> = {};
  for (const word of raw) {
    const [, key = '', amount = ''] = /^([^=]*)=(.*)$/s.exec(word) ?? [];
    const refuse = (why: string) => wrongUsage(`Cannot use --limit "${word}": ${why}`);
    if (!isLimitKey(key)) {
      const choices = Object.entries(MEASURES).map(([name, { like }]) => `${name} (${like})`);
      throw refuse(`expected KEY=VALUE with one of ${choices.join(', ')}`);
    }
    if (limits[key] !== undefined) throw refuse(`${key} is given twice`);
    const value = amountOf(amount, MEASURES[key]);
    if (value === null) throw refuse(`expected ${key} in ${MEASURES[key].like}, from 1`);
    limits[key] = value;
  }
  return limits;
}

/** The time of a flag in milliseconds, a day at most; undefined where it is absent. */
export function timeOf(invocation: Invocation, flag: string): number | undefined {
  return quantityOf(invocation, flag, TIME, LONGEST_TIME_MS);
}

/** The fuel of --fuel and the memory of --memory, as far as they are given. */
export function limitsOf(invocation: Invocation): Partial<Pick<Limits, 'fuel' | 'memoryBytes'>> {
  const fuel = numberOf(invocation, 'fuel', { min: 1, max: LIMIT_CEILINGS.fuel, absent: 0 });
  const memoryBytes = quantityOf(invocation, 'memory', BYTES, LIMIT_CEILINGS.memoryBytes);
  return { ...(fuel === 0 ? {} : { fuel }), ...(memoryBytes === undefined ? {} : { memoryBytes }) };
}

function quantityOf(invocation: Invocation, flag: string, measure: Measure, most: number) {
  const read = (raw: string) => {
    const amount = amountOf(raw, measure);
    return amount !== null && amount <= most ? amount : null;
  };
  return parsedOf(invocation, flag, read, `${measure.like}, from 1 to ${most}`);
}

/** Boundary: digits and one known unit; no sign, fraction, exponent or number that a double cannot hold. */
function amountOf(raw: string, { units }: Measure): number | null {
  const [, digits = '', unit = ''] = /^([0-9]{1,16})([a-z]*)$/.exec(raw) ?? [];
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (digits === '' || factor === undefined) return null;
  const amount = Number(digits) * factor;
  return Number.isSafeInteger(amount) && amount >= 1 ? amount : null;
}

function isLimitKey(key: string): key is LimitKey {
  return Object.hasOwn(MEASURES, key);
}

const UNITS_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const LONGEST_MS = 100 * 366 * 86_400_000;

/** The time of --expires: the beginning of a date in UTC, or a duration from now; undefined: never. */
export function expiryOf(invocation: Invocation): string | undefined {
  const nowMs = invocation.edge.clock.nowMs();
  const expected = 'a date as 2027-01-31 or a duration as 12h, 90d or 52w';
  const read = (raw: string) => readDuration(raw, nowMs) ?? readDate(raw);
  const atMs = parsedOf(invocation, 'expires', read, expected);
  if (atMs === undefined) return undefined;
  const refuse = (why: string) => wrongUsage(`Cannot use --expires "${invocation.flags.expires}": ${why}`);
  if (atMs <= nowMs) throw refuse('it is in the past');
  if (atMs - nowMs > LONGEST_MS) throw refuse('expected at most a hundred years');
  return isoTime(atMs);
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
