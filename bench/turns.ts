import { type Spread, spreadOf } from './measure.ts';

/** One of the things that are compared; a turn gives the milliseconds that it took. */
export type Side = { readonly name: string; readonly turn: () => number | Promise<number> };

/** What each side took in each round, in milliseconds. */
export type Turns = Readonly<Record<string, readonly number[]>>;

/** Lets all sides act once a round, forwards and backwards in turn, so that no side always follows the same one. */
export async function takeTurns(rounds: number, sides: readonly Side[]): Promise<Turns> {
  const times: Record<string, number[]> = Object.fromEntries(sides.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, turn } of round % 2 === 0 ? sides : sides.toReversed())
      times[name]?.push(await turn());
  }
  return times;
}

/** How much longer `ours` takes than `bare`: the ratio within each round. */
export function ratiosOf(turns: Turns, ours: string, bare: string): number[] {
  const base = turns[bare] ?? [];
  return (turns[ours] ?? []).map((time, round) => time / (base[round] ?? Number.NaN));
}

export function ratioOf(turns: Turns, ours: string, bare: string): Spread {
  return spreadOf(ratiosOf(turns, ours, bare));
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
