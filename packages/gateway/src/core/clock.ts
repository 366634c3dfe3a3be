/** Time and randomness are created in open.ts and passed down, so that tests can replace them. */
export type Clock = {
  readonly nowMs: () => number;
  /** A clock that never goes back, in fractional milliseconds; for durations only. */
  readonly monotonicMs: () => number;
};

export type Random = {
  /** Unpredictable bytes from the operating system. */
  readonly bytes: (count: number) => Uint8Array;
};

/** The format of times in records and receipts: UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARS = 9;
const RANDOM_CHARS = 16;

/** An id that sorts by its time and cannot be guessed: 45 bits of milliseconds, 80 random bits. */
export function makeId(prefix: string, nowMs: number, random: Random): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < TIME_CHARS; i++, rest = Math.floor(rest / 32)) {
    time = ALPHABET.charAt(rest % 32) + time;
  }
  let tail = '';
  for (const byte of random.bytes(RANDOM_CHARS)) tail += ALPHABET.charAt(byte % 32);
  return `${prefix}_${time}${tail}`;
}
