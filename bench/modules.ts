import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { FileShelf } from '../packages/gateway/src/store/file-shelf.ts';
import { runComponent } from '../packages/gateway/src/tiers/a-wasm/engine/guest-pool.ts';
import { newCallContext } from '../packages/gateway/src/tiers/a-wasm/engine/handlers.ts';
import { GatewayPipe } from '../packages/gateway/src/tiers/a-wasm/engine/pipe.ts';
import { Forms } from '../packages/gateway/src/tiers/a-wasm/modules.ts';
import { createEngine } from '../packages/wasm/src/instance/engine.ts';
import { BROTLI } from '../tests/fixtures/modules/programs/codecs.ts';
import { resvgGuest } from '../tests/fixtures/modules/programs/resvg.ts';
import { sqliteGuest } from '../tests/fixtures/modules/programs/sqlite.ts';
import { type BenchOptions, type Figure, quantile, scaled, single, spreadOf, timesOf } from './measure.ts';
import { type BenchEngine, formOf, HEAD, openEngine } from './module-engine.ts';
import { echoOfComponent, echoOfOurs } from './module-guests.ts';
import { openPeers, type Peers } from './module-peers.ts';
import { ratioOf, takeTurns } from './turns.ts';

/*
 * What a call of a module costs beyond the line: in an engine process in its jail, and in this process for who embeds the
 * engine; the same work by Extism's host; and the first call of a module that is installed and that no engine has yet.
 */

const MIB = 1024 * 1024;
const INPUT = new TextEncoder().encode(JSON.stringify({ city: 'Reykjavík', days: 7, units: 'metric' }));
/** A tool of that module that needs nothing of it. */
const SAME = 'same';
const [WARM_UP, BATCH] = [3, 5];
const LATER_CALLS = 5;
const NO_MODULE = new Uint8Array(0);
/** Nothing is requested of a gateway here. */
const PIPE = new GatewayPipe(-1, -1);
const NAMES = { room: 'palisade_alloc', work: 'tool' };

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const engine = await openEngine(mkdtempSync(join(scratch, 'modules-')));
  const peers = await openPeers(INPUT);
  try {
    return [
      ...(await latencies(engine, quick)),
      ...(await againstPeers(engine, peers, quick)),
      ...(await coldStarts(scratch, quick)),
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
    const { bytes } = pool.exchange(NAMES, INPUT, { fuel: 1_000_000, context: newCallContext(HEAD, PIPE) });
    if (bytes.length !== INPUT.length) throw new Error('Cannot measure modules: the echo is another');
  };
}

/** The same as a component. */
async function ofComponent(): Promise<() => void> {
  const engine = createEngine({ deterministic: true });
  const pool = engine.pool(await engine.compile(echoOfComponent()), { size: 1 });
  return () => {
    const { bytes } = runComponent(pool, newCallContext(HEAD, PIPE), INPUT);
    if (bytes.length !== INPUT.length) throw new Error('Cannot measure components: the echo is another');
  };
}

async function againstPeers(engine: BenchEngine, peers: Peers, quick: boolean): Promise<Figure[]> {
  const [own, component] = [await inThisProcess(), await ofComponent()];
  const form = await formOf(echoOfOurs());
  const turn = (calls: number, act: () => unknown) => async () => {
    const startedMs = performance.now();
    for (let call = 0; call < calls; call += 1) await act();
    return (performance.now() - startedMs) / calls;
  };
  const sides = [
    { name: 'ours', turn: turn(500, own) },
    { name: 'component', turn: turn(500, component) },
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
    {
      name: 'component / module, the same echo',
      unit: 'x',
      spread: ratioOf(turns, 'component', 'ours'),
      goal: { atMost: 2 },
    },
    { name: 'ours, a new guest for each call', unit: 'us', spread: us('ours') },
    { name: 'Extism, one instance for all calls', unit: 'us', spread: us('kept') },
    { name: 'Extism, an instance for each call', unit: 'us', spread: us('anew') },
    { name: 'Extism, one instance in a worker', unit: 'us', spread: us('apart') },
  ];
}

/** A real program: sent to an engine that never saw it, and called; beside it V8 compiles the module as it came. */
async function coldStarts(scratch: string, quick: boolean): Promise<Figure[]> {
  const programs = {
    'brotli, 1.1 MB': BROTLI.compress(),
    'SQLite, 0.7 MB': sqliteGuest(),
    'resvg, 2.5 MB': resvgGuest(),
  };
  const figures: Figure[] = [];
  for (const [name, program] of Object.entries(programs)) {
    const times: ColdTimes = { bare: [], file: [], hand: [], second: [], later: [] };
    for (let batch = 0; batch < (quick ? 2 : 6); batch += 1)
      await addColdTimes(times, program, { scratch, batch });
    const ratio = (side: 'file' | 'hand') =>
      spreadOf(times[side].map((ms, index) => ms / (times.bare[index] ?? Number.NaN)));
    const goal = { atMost: 1.3 };
    figures.push(
      { name: `first call / bare compile, ${name}`, unit: 'x', spread: ratio('hand'), goal },
      { name: '  its form on disk', unit: 'x', spread: ratio('file'), goal },
      { name: '  first call', unit: 'ms', spread: spreadOf(times.hand) },
      { name: '  bare compile', unit: 'ms', spread: spreadOf(times.bare) },
      { name: '  the call right behind it', unit: 'ms', spread: spreadOf(times.second), goal: { atMost: 5 } },
      { name: '  later calls', unit: 'ms', spread: spreadOf(times.later), goal: { atMost: 5 } },
    );
  }
  return figures;
}

type ColdTimes = Record<'bare' | 'file' | 'hand' | 'second' | 'later', number[]>;

/** Some rounds in an engine of their own, as one keeps every module it was given; the first ones warm it up. */
async function addColdTimes(
  times: ColdTimes,
  program: Uint8Array,
  { scratch, batch }: { readonly scratch: string; readonly batch: number },
): Promise<void> {
  const engine = await openEngine(mkdtempSync(join(scratch, 'cold-')));
  const shelf = new FileShelf(join(scratch, 'forms'), {
    mostBytes: 1024 * MIB,
    tag: 'bench',
    nowMs: Date.now,
  });
  for (let round = 0; round < WARM_UP + BATCH; round += 1) {
    const first = 3 * (batch * (WARM_UP + BATCH) + round);
    const modules = [0, 1, 2].map((each) => marked(program, first + each));
    const [ours = NO_MODULE, other = NO_MODULE, bare = NO_MODULE] = modules;
    await new Forms(shelf, 'bench').keep('ours', await formOf(ours));
    const atHand = await formOf(other);
    const fromFile = async () => {
      const form = await new Forms(shelf, 'bench').find('ours');
      if (form !== null) await engine.call(`file-${round}`, form, INPUT, SAME);
    };
    const fromHand = () => engine.call(`hand-${round}`, atHand, INPUT, SAME);
    const sides = [
      ['bare', () => WebAssembly.compile(bare)],
      ['file', fromFile],
      ['hand', fromHand],
    ] as const;
    for (const [name, act] of round % 2 === 0 ? sides : sides.toReversed()) {
      const ms = await timed(act);
      if (round >= WARM_UP) times[name].push(ms);
    }
    // Where a first call has left much to collect, the next one pays for it.
    const [second = Number.NaN, ...later] = await timesOf(LATER_CALLS, fromHand);
    if (round < WARM_UP) continue;
    times.second.push(second);
    times.later.push(...later);
  }
  await engine.close();
}

/** Another module to everybody, and the same program: V8 and the engine know modules by their bytes. */
function marked(module: Uint8Array, mark: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...module, 0, 3, 1, mark & 127, mark >> 7]);
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await act();
  return performance.now() - startedMs;
}
