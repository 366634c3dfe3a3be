/*
 * How things are timed here. The machine is never quiet, so what is compared is run in turns (A, B, then B, A, …), each
 * round gives one ratio, and the middle of all rounds is reported with the tenth and the ninetieth percentile.
 */

export type Spread = { readonly p10: number; readonly median: number; readonly p90: number };

/** What one bench is told: `quick` asks for fewer rounds and a smaller journal. */
export type BenchOptions = { readonly quick: boolean; readonly scratch: string };

/** A figure must not pass `atMost`, or must reach `atLeast`; without a goal it is for information. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number };

export type Figure = {
  readonly name: string;
  readonly unit: 'x' | 'ms' | 'us' | 'ns' | 'per s' | 'MB/s' | 'bytes';
  readonly spread: Spread;
  readonly goal?: Goal;
  readonly note?: string;
};

type Act = (index: number) => unknown;

export function quantile(sorted: readonly number[], q: number): number {
  const at = (sorted.length - 1) * q;
  const [low, high] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN];
  return low + (high - low) * (at - Math.floor(at));
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { p10: quantile(sorted, 0.1), median: quantile(sorted, 0.5), p90: quantile(sorted, 0.9) };
}

/** A figure that was measured once and has no spread. */
export function single(value: number): Spread {
  return { p10: value, median: value, p90: value };
}

export function scaled({ p10, median, p90 }: Spread, factor: number): Spread {
  return { p10: p10 * factor, median: median * factor, p90: p90 * factor };
}

/** Milliseconds that one act takes on average over `count` acts; acts that give a promise are awaited. */
export async function timeOf(count: number, act: Act): Promise<number> {
  const startedMs = performance.now();
  for (let index = 0; index < count; index += 1) {
    const result = act(index);
    if (result instanceof Promise) await result;
  }
  return (performance.now() - startedMs) / count;
}

/** Milliseconds of every single act. */
export async function timesOf(count: number, act: Act): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) times.push(await timeOf(1, () => act(index)));
  return times;
}

export type Compared = { readonly ours: Spread; readonly bare: Spread; readonly ratio: Spread };

/** A quarter more rounds go first, warm both sides up, and are thrown away. */
function warmUpRounds(rounds: number): number {
  return Math.max(2, 2 * Math.ceil(rounds / 8));
}

/** Times two acts in turns; the ratio is ours over bare, taken within each round. */
export async function compare(rounds: number, count: number, ours: Act, bare: Act): Promise<Compared> {
  const times: Pair[] = [];
  for (let round = -warmUpRounds(rounds); round < rounds; round += 1) {
    const first = round % 2 === 0 ? await timeOf(count, ours) : null;
    const middle = await timeOf(count, bare);
    const pair = { ours: first ?? (await timeOf(count, ours)), bare: middle };
    if (round >= 0) times.push(pair);
  }
  return comparedOf(times);
}

/** The same with something to be made ready before each turn, which is not timed. */
export async function compareReady(
  rounds: number,
  { prepare, ours, bare }: { prepare: () => Promise<void>; ours: Act; bare: Act },
): Promise<Compared> {
  const times: Pair[] = [];
  for (let round = -warmUpRounds(rounds); round < rounds; round += 1) {
    const timed = async (act: Act) => {
      await prepare();
      return timeOf(1, act);
    };
    const first = round % 2 === 0 ? await timed(ours) : null;
    const middle = await timed(bare);
    const pair = { ours: first ?? (await timed(ours)), bare: middle };
    if (round >= 0) times.push(pair);
  }
  return comparedOf(times);
}

type Pair = { readonly ours: number; readonly bare: number };

function comparedOf(times: readonly Pair[]): Compared {
  return {
    ours: spreadOf(times.map((pair) => pair.ours)),
    bare: spreadOf(times.map((pair) => pair.bare)),
    ratio: spreadOf(times.map((pair) => pair.ours / pair.bare)),
  };
}
