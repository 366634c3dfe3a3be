import type { LIMIT_NAMES } from '../../../runner/input.ts';
import { wrongUsage } from '../input.ts';

/** What a limit counts, the units it may be written with, and how much each is. */
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

/** The limits of all `--limit KEY=VALUE`, in the words of the tool; refuses what is not exactly a limit. */
export function readLimits(raw: readonly string[]): Partial<Record<LimitKey, number>> {
  const limits: Partial<Record<LimitKey, number>> = {};
  for (const word of raw) {
    const [, key = '', amount = ''] = /^([^=]*)=(.*)$/s.exec(word) ?? [];
    if (!isLimitKey(key)) throw badLimit(word, `expected KEY=VALUE with one of ${choices()}`);
    if (limits[key] !== undefined) throw badLimit(word, `${key} is given twice, expected it once`);
    const { like } = MEASURES[key];
    limits[key] = amountOf(amount, MEASURES[key]) ?? refuse(word, `expected ${key} in ${like}, from 1`);
  }
  return limits;
}

/** The time of a flag in milliseconds, a day at most. */
export function readTime(flag: string, raw: string): number {
  const ms = amountOf(raw, TIME);
  if (ms !== null && ms <= LONGEST_TIME_MS) return ms;
  throw wrongUsage(`Cannot use --${flag} "${raw}": expected ${TIME.like}, from 1 to ${LONGEST_TIME_MS}`);
}

/** The bytes of a flag, up to the most that it may name. */
export function readBytes(flag: string, raw: string, most: number): number {
  const bytes = amountOf(raw, BYTES);
  if (bytes !== null && bytes <= most) return bytes;
  throw wrongUsage(`Cannot use --${flag} "${raw}": expected ${BYTES.like}, from 1 to ${most}`);
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

function choices(): string {
  return Object.entries(MEASURES)
    .map(([key, { like }]) => `${key} (${like})`)
    .join(', ');
}

function badLimit(word: string, why: string) {
  return wrongUsage(`Cannot use --limit "${word}": ${why}`);
}

function refuse(word: string, why: string): never {
  throw badLimit(word, why);
}
