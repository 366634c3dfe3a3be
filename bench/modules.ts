import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { FileShelf } from '../packages/gateway/src/store/file-shelf.ts';
import { newCallContext } from '../packages/gateway/src/tiers/a-wasm/engine/call-context.ts';
import { Forms } from '../packages/gateway/src/tiers/a-wasm/forms.ts';
import { createEngine } from '../packages/wasm/src/instance/engine.ts';
import { type BenchOptions, type Figure, quantile, scaled, single, spreadOf, timesOf } from './measure.ts';
import { type BenchEngine, formOf, HEAD, openEngine } from './module-engine.ts';
import { echoOfOurs } from './module-guests.ts';
import { openPeers, type Peers } from './module-peers.ts';
import { ratioOf, takeTurns } from './turns.ts';
import { guestOfSize } from './wasm-modules.ts';

/*
 * What a call of a module costs beyond the line: in an engine process in its jail, and in this process for who embeds the
 * engine; the same work by Extism's host; and the first call of a module that is installed and that no engine has yet.
 */

const MIB = 1024 * 1024;
const INPUT = new TextEncoder().encode(JSON.stringify({ city: 'Reykjavík', days: 7, units: 'metric' }));
const NAMES = { room: 'palisade_alloc', work: 'tool' };

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const engine = await openEngine(mkdtempSync(join(scratch, 'modules-')));
  const peers = await openPeers(INPUT);
  try {
    return [
      ...(await latencies(engine, quick)),
      ...(await againstPeers(engine, peers, quick)),
      ...(await coldStarts(engine, mkdtempSync(join(scratch, 'forms-')), quick)),
    ];
  } finally {
    await peers.close();
    await engine.close();
  }
}

async function latencies(engine: BenchEngine, quick: boolean): Promise<Figure[]> {
  const form = await formOf(echoOfOurs());
  const one = () => engine.call('echo', form, INPUT);
  await timesOf(500, one);
  const times = (await timesOf(quick ? 2_000 : 20_000, one)).map((ms) => ms * 1000).sort((a, b) => a - b);
  const own = await inThisProcess();
  const owns = (await timesOf(quick ? 2_000 : 20_000, own)).map((ms) => ms * 1000).sort((a, b) => a - b);
  return [
    { name: 'call in an engine process', unit: 'us', spread: spreadOf(times), goal: { atMost: 150 } },
    { name: 'call in an engine process, p99', unit: 'us', spread: single(quantile(times, 0.99)) },
    { name: 'call in this process', unit: 'us', spread: spreadOf(owns), goal: { atMost: 20 } },
  ];
}

/** A call as an embedder makes it: a guest of its own from a pool. */
async function inThisProcess(): Promise<() => void> {
  const engine = createEngine({ deterministic: true });
  const pool = engine.pool(await engine.compile(echoOfOurs()), { size: 1 });
  return () => {
    const { bytes } = pool.exchange(NAMES, INPUT, { fuel: 1_000_000, context: newCallContext(HEAD) });
    if (bytes.length !== INPUT.length) throw new Error('Cannot measure modules: the echo is another');
  };
}

async function againstPeers(engine: BenchEngine, peers: Peers, quick: boolean): Promise<Figure[]> {
  const own = await inThisProcess();
  const form = await formOf(echoOfOurs());
  const turn = (calls: number, act: () => unknown) => async () => {
    const startedMs = performance.now();
    for (let call = 0; call < calls; call += 1) await act();
    return (performance.now() - startedMs) / calls;
  };
  const sides = [
    { name: 'ours', turn: turn(500, own) },
    { name: 'kept', turn: turn(500, peers.kept) },
    { name: 'anew', turn: turn(100, peers.anew) },
    { name: 'ours apart', turn: turn(100, () => engine.call('echo', form, INPUT)) },
    { name: 'apart', turn: turn(100, peers.apart) },
  ];
  await takeTurns(3, sides);
  const turns = await takeTurns(quick ? 10 : 40, sides);
  const us = (name: string) => scaled(spreadOf(turns[name] ?? []), 1000);
  const goal = { atLeast: 3 };
  return [
    {
      name: 'Extism, one instance for all / ours',
      unit: 'x',
      spread: ratioOf(turns, 'kept', 'ours'),
      goal,
    },
    { name: 'Extism, an instance for each / ours', unit: 'x', spread: ratioOf(turns, 'anew', 'ours'), goal },
    {
      name: 'Extism in a worker / ours in a process',
      unit: 'x',
      spread: ratioOf(turns, 'apart', 'ours apart'),
    },
    { name: 'ours, a new guest for each call', unit: 'us', spread: us('ours') },
    { name: 'Extism, one instance for all calls', unit: 'us', spread: us('kept') },
    { name: 'Extism, an instance for each call', unit: 'us', spread: us('anew') },
    { name: 'Extism, one instance in a worker', unit: 'us', spread: us('apart') },
  ];
}

/** The file is read, sent to an engine that never saw it, and called; beside it V8 compiles the module as it came. */
async function coldStarts(engine: BenchEngine, dir: string, quick: boolean): Promise<Figure[]> {
  const rounds = quick ? 10 : 40;
  const shelf = new FileShelf(dir, { mostBytes: 1024 * MIB, tag: 'bench', nowMs: Date.now });
  const modules = Array.from({ length: rounds + 3 }, (_, mark) => guestOfSize(MIB, mark));
  for (const [mark, module] of modules.entries())
    await new Forms(shelf, 'bench').keep(`module-${mark}`, await formOf(module));
  const cold: number[] = [];
  const bare: number[] = [];
  const warm: number[] = [];
  for (const [mark, module] of modules.entries()) {
    const key = `module-${mark}`;
    const first = async () => {
      const form = await new Forms(shelf, 'bench').find(key);
      if (form === null) throw new Error('Cannot measure: the module is gone');
      await engine.call(key, form, INPUT);
      return form;
    };
    const compile = () => WebAssembly.compile(Uint8Array.from(module));
    const before = mark % 2 === 0 ? await timed(compile) : null;
    const [coldMs, form] = await timedWith(first);
    const bareMs = before ?? (await timed(compile));
    const warmMs = await timed(() => engine.call(key, form, INPUT));
    if (mark < 3) continue;
    cold.push(coldMs);
    bare.push(bareMs);
    warm.push(warmMs);
  }
  const ratios = cold.map((ms, index) => ms / (bare[index] ?? Number.NaN));
  return [
    {
      name: 'first call of 1 MB installed / bare compile',
      unit: 'x',
      spread: spreadOf(ratios),
      goal: { atMost: 1.3 },
    },
    { name: 'first call of 1 MB installed', unit: 'ms', spread: spreadOf(cold) },
    { name: 'next call of it', unit: 'ms', spread: spreadOf(warm), goal: { atMost: 5 } },
  ];
}

async function timedWith<T>(act: () => Promise<T>): Promise<[ms: number, value: T]> {
  const startedMs = performance.now();
  const value = await act();
  return [performance.now() - startedMs, value];
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const [ms] = await timedWith(act);
  return ms;
}
