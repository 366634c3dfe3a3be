import type { Random } from './clock.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARS = 9;
const RANDOM_CHARS = 16;

/** An id that sorts by its time and cannot be guessed: 45 bits of milliseconds, 80 bits of chance. */
export function makeId(prefix: string, nowMs: number, random: Random): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < TIME_CHARS; i++, rest = Math.floor(rest / 32)) {
    time = ALPHABET.charAt(rest % 32) + time;
  }
  let chance = '';
  for (const byte of random.bytes(RANDOM_CHARS)) chance += ALPHABET.charAt(byte % 32);
  return `${prefix}_${time}${chance}`;
}
