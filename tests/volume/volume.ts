/*
 * How much of the volume of a test runs. Fuzzing, property counts, kill rounds and real programs are proof by quantity:
 * `npm test` runs a share of them, others each time; `npm run prove` runs all. Every file of a run draws with the same
 * number, so that tests of the same examples need the same ones built.
 */

const SHARE_OF_TEST = 0.05;

/** From 0 to 1, exclusive; `vitest.config.ts` draws and prints it. */
const DRAW = Number(process.env.PALISADE_DRAW ?? Math.random());

/** From 0 to 1. */
export const VOLUME = shareOf(process.env.PALISADE_VOLUME);

/** The share of `count` that runs today, but at least `least`. */
export function volume(count: number, least = 1): number {
  return Math.min(count, Math.max(least, Math.ceil(count * VOLUME)));
}

/** As many of the rows as run today, the same for all files of a run; all of them when everything is proved. */
export function sample<T>(rows: readonly T[], least = 1): readonly T[] {
  const count = volume(rows.length, least);
  const first = count === rows.length ? 0 : Math.floor(DRAW * rows.length);
  return [...rows.slice(first), ...rows.slice(0, first)].slice(0, count);
}

function shareOf(text: string | undefined): number {
  if (text === undefined || text === '') return SHARE_OF_TEST;
  const share = Number(text);
  if (share > 0 && share <= 1) return share;
  throw new Error(`Cannot use PALISADE_VOLUME "${text}": expected a number above 0 and up to 1`);
}
