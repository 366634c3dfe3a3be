import { createEngine } from '../packages/wasm/src/instance/engine.ts';
import { type BenchOptions, type Figure, quantile, scaled, single, spreadOf } from './measure.ts';
import { ratioOf, takeTurns } from './turns.ts';
import { moduleWithMemory } from './wasm-modules.ts';
import { keepCallsApart, processorMsOf } from './wasm-sides.ts';

/*
 * One call on a guest that nobody used before: from a pool, which clears memories and keeps them, against an instance
 * made for the call, ours and bare V8's.
 */

const PAGE_BYTES = 65_536;
const PAGES = [1, 16, 256];
const GUESTS = 500;

export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  keepCallsApart();
  const slot = await bytesOfSlot();
  const figures: Figure[] = [];
  for (const pages of PAGES) figures.push(...(await comparePages(pages, quick)));
  return [...figures, { name: 'memory of a pooled guest of 64 KiB', unit: 'bytes', spread: single(slot) }];
}

async function comparePages(pages: number, quick: boolean): Promise<Figure[]> {
  const bytes = moduleWithMemory(pages);
  const engine = createEngine();
  const compiled = await engine.compile(bytes);
  const pool = engine.pool(compiled, { size: 1 });
  const module = new WebAssembly.Module(bytes);
  const pooled = () => pool.run('run', [7]);
  const made = () => {
    const instance = engine.instantiate(compiled);
    instance.call('run', [7]);
    instance.release();
  };
  const bare = () => (new WebAssembly.Instance(module).exports.run as (n: number) => number)(7);
  // Enough that a side pays for the collection of its own garbage within its turn.
  const calls = Math.max(60, Math.ceil(4000 / (pages + 1)));
  const sides = Object.entries({ pooled, made, bare }).map(([name, act]) => ({
    name,
    turn: () => processorMsOf(() => repeat(calls, act)),
  }));
  await takeTurns(3, sides);
  const turns = await takeTurns(quick ? 12 : 60, sides);
  const latencies = eachUs(quick ? 2000 : 20_000, pooled);
  pool.close();
  const size = `${(pages * PAGE_BYTES) / 1024} KiB`;
  const us = (name: string) => scaled(spreadOf(turns[name] ?? []), 1000 / calls);
  const ratio = ratioOf(turns, 'pooled', 'bare');
  // Large memories are cleared whole, while a new one is only as expensive as what is touched of it.
  const goal = pages === 1 ? { goal: { atMost: 1 } } : {};
  return [
    { name: `pooled call / bare instance, ${size}`, unit: 'x', spread: ratio, ...goal },
    { name: `pooled call, ${size}`, unit: 'us', spread: us('pooled') },
    {
      name: `pooled call, ${size}, p99`,
      unit: 'us',
      spread: single(quantile(latencies, 0.99)),
      note: 'by the clock',
    },
    { name: `instance of ours for one call, ${size}`, unit: 'us', spread: us('made') },
    { name: `bare instance for one call, ${size}`, unit: 'us', spread: us('bare') },
  ];
}

function repeat(count: number, act: () => unknown): void {
  for (let index = 0; index < count; index += 1) act();
}

/** Microseconds of each act, sorted. */
function eachUs(count: number, act: () => unknown): number[] {
  const times = Array.from({ length: count }, () => {
    const startedMs = performance.now();
    act();
    return (performance.now() - startedMs) * 1000;
  });
  return times.sort((a, b) => a - b);
}

/** What the process grows by when guests sit down in many pools and each has run once. */
async function bytesOfSlot(): Promise<number> {
  const engine = createEngine({ instances: GUESTS, totalMemoryBytes: GUESTS * PAGE_BYTES });
  const compiled = await engine.compile(moduleWithMemory(1));
  const beforeBytes = process.memoryUsage.rss();
  const pools = Array.from({ length: GUESTS }, () => engine.pool(compiled, { size: 1 }));
  for (const pool of pools) {
    pool.run('run', [7]);
    pool.prepare();
  }
  const bytes = (process.memoryUsage.rss() - beforeBytes) / GUESTS;
  for (const pool of pools) pool.close();
  return bytes;
}
