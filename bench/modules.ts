import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DEFAULT_SETTINGS } from '../packages/gateway/src/runner/settings.ts';
import { newCallContext } from '../packages/gateway/src/tiers/a-wasm/engine/call-context.ts';
import { type EngineCall, EngineProcess } from '../packages/gateway/src/tiers/a-wasm/engine-process.ts';
import { ENGINE_FILE } from '../packages/gateway/src/tiers/a-wasm/engine-terms.ts';
import type { CallHead } from '../packages/gateway/src/tiers/a-wasm/engine-words.ts';
import { startEngine } from '../packages/gateway/src/tiers/a-wasm/start-engine.ts';
import { openCommands } from '../packages/gateway/src/tiers/process/open.ts';
import { Scratches } from '../packages/gateway/src/tiers/process/scratch.ts';
import { NO_NETWORKS } from '../packages/gateway/test/tiers/sample-networks.ts';
import { createEngine } from '../packages/wasm/src/instance/engine.ts';
import { type BenchOptions, type Figure, quantile, scaled, single, spreadOf, timesOf } from './measure.ts';
import { echoOfExtism, echoOfOurs } from './module-guests.ts';
import { ratioOf, takeTurns } from './turns.ts';

/*
 * What a call of a module costs beyond the line: in an engine process in its jail, and in this process for who embeds the
 * engine; and the same work by Extism's host, which keeps one instance for all calls.
 */

const MIB = 1024 * 1024;
const RESET_AFTER = 1_000;
const INPUT = new TextEncoder().encode(JSON.stringify({ city: 'Reykjavík', days: 7, units: 'metric' }));
const NAMES = { room: 'palisade_alloc', work: 'tool' };
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const engine = await openEngine(mkdtempSync(join(scratch, 'modules-')));
  const peer = await openPeer();
  try {
    return [...(await latencies(engine.process, quick)), ...(await againstPeer(peer, quick))];
  } finally {
    await peer.close();
    await engine.close();
  }
}

async function openEngine(house: string) {
  const commands = openCommands({
    ...{
      clock,
      launchers: [join(process.cwd(), 'packages/launcher/dist/palisade-launcher')],
      firstUid: 61_000,
      isGone: () => false,
      warm: 0,
    },
    owner: { house, process: 'p_bench' },
    limits: DEFAULT_SETTINGS.defaults,
    networks: NO_NETWORKS,
  });
  const scratches = new Scratches({ owner: { house, process: 'p_bench' }, isGone: () => false });
  const node = scratches.program(process.execPath);
  const built = join(process.cwd(), 'packages/gateway/dist/guests.engine.js');
  const ends = await startEngine({
    node: node.path,
    memoryBytes: 64 * MIB,
    makeWorkspace: () => scratches.file(ENGINE_FILE, [built]),
    hold: (tier, terms) => commands.tiers[tier].hold(`bench-${tier}`, terms),
  });
  const running = new EngineProcess(ends);
  if (!(await running.ready)) throw new Error('Cannot measure modules: the engine did not begin');
  const close = async () => {
    running.end('the bench is over');
    await ends.ended;
    await commands.close();
    node.remove();
  };
  return { process: running, close };
}

const HEAD: CallHead = {
  ...{ key: 'echo', owner: 'bench', tool: 'tool', startedMs: 0, seed: '00'.repeat(32), config: {} },
  functions: [],
  counts: { http: 0, secret: 0, storage: 0, channel: 0 },
  limits: { fuel: 1_000_000, memoryBytes: MIB, outputBytes: MIB, logBytes: 0 },
};

async function latencies(engine: EngineProcess, quick: boolean): Promise<Figure[]> {
  const prepared = await engine.prepare(echoOfOurs(), { memoryBytes: HEAD.limits.memoryBytes });
  if (prepared.kind !== 'prepared') throw new Error(`Cannot measure: ${JSON.stringify(prepared)}`);
  const call: EngineCall = { module: { key: 'echo', form: prepared.form }, head: HEAD, input: INPUT };
  const ears = { onAsk: async () => ({ result: -1 }), onLog: () => undefined };
  const one = async () => {
    const end = await engine.run(call, ears);
    if (end.kind !== 'done' || end.head.ending !== 'returned')
      throw new Error(`Cannot measure: ${JSON.stringify(end)}`);
  };
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

type Peer = { readonly call: () => Promise<void>; readonly close: () => Promise<void> };

type Extism = {
  readonly createPlugin: (
    manifest: object,
    options: object,
  ) => Promise<{
    readonly call: (name: string, input: Uint8Array) => Promise<{ bytes: () => Uint8Array } | null>;
    readonly reset: () => Promise<boolean>;
    readonly close: () => Promise<void>;
  }>;
};

async function openPeer(): Promise<Peer> {
  const home = join(process.cwd(), 'bench/peers');
  const entry = join(home, 'node_modules/@extism/extism/dist/esm/mod.js');
  if (!existsSync(entry)) {
    console.error('installing what modules are compared with (npm ci in bench/peers)');
    const words = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', words, { cwd: home, stdio: 'inherit' });
  }
  const { createPlugin }: Extism = await import(pathToFileURL(entry).href);
  const plugin = await createPlugin({ wasm: [{ data: echoOfExtism() }] }, { useWasi: false });
  let calls = 0;
  return {
    call: async () => {
      calls += 1;
      // It keeps what each call was given, and has no room for more after some ten thousand.
      if (calls % RESET_AFTER === 0) await plugin.reset();
      const output = await plugin.call('tool', INPUT);
      if (output?.bytes().length !== INPUT.length)
        throw new Error('Cannot measure the peer: its echo is another');
    },
    close: () => plugin.close(),
  };
}

async function againstPeer(peer: Peer, quick: boolean): Promise<Figure[]> {
  const own = await inThisProcess();
  const calls = 500;
  const turn = (act: () => unknown) => async () => {
    const startedMs = performance.now();
    for (let call = 0; call < calls; call += 1) await act();
    return performance.now() - startedMs;
  };
  const sides = [
    { name: 'ours', turn: turn(own) },
    { name: 'extism', turn: turn(peer.call) },
  ];
  await takeTurns(3, sides);
  const turns = await takeTurns(quick ? 10 : 40, sides);
  const us = (name: string) => scaled(spreadOf(turns[name] ?? []), 1000 / calls);
  return [
    {
      name: 'Extism / ours, the same echo',
      unit: 'x',
      spread: ratioOf(turns, 'extism', 'ours'),
      goal: { atLeast: 3 },
    },
    { name: 'ours, a new guest for each call', unit: 'us', spread: us('ours') },
    { name: 'Extism, one instance for all calls', unit: 'us', spread: us('extism') },
  ];
}
