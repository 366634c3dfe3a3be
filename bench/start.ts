import { type ChildProcess, spawn as spawnProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCodeCache } from '../tools/code-cache.mjs';
import { TRUE } from './command-bed.ts';
import { peerCommand } from './command-peers.ts';
import { type BenchOptions, type Figure, single, spreadOf, timeOf } from './measure.ts';

/*
 * What a user waits for: whole commands from spawn to exit, with a daemon and without, and for an MCP client the answer to
 * `initialize` and to the list of tools. All of them, the CLI of the peer and a Node that does nothing take turns in one
 * run, in an order that changes each round; a ratio is of one round. On a busy machine the processor time of a command and
 * of what it started says more than its duration: it is counted over all rounds.
 */

const ROOT = process.cwd();
const BIN = join(ROOT, 'packages/gateway/bin/palisade.js');

type Bed = { readonly state: string; readonly served: string; readonly work: string };
type Timed = {
  readonly name: string;
  readonly ms: () => Promise<number>;
  /** It is the whole command that is timed. */
  readonly isWhole?: true;
};

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  await makeCodeCache(ROOT, console.error);
  const rounds = quick ? 8 : 40;
  const bed = makeBed(scratch);
  const peer = await peerCommand();
  const daemon = await serve(bed);
  try {
    return await measure(timed(bed, peer), rounds);
  } finally {
    daemon.kill();
    await once(daemon, 'exit');
  }
}

function makeBed(scratch: string): Bed {
  const base = mkdtempSync(join(scratch, 'start-'));
  const bed = { state: join(base, 'state'), served: join(base, 'served'), work: join(base, 'work') };
  for (const path of Object.values(bed)) mkdirSync(path, { mode: 0o700 });
  return bed;
}

/** Each command as its user writes it. What the state directories hold after the warm-up is there in every round. */
function timed({ state, served, work }: Bed, peer: string): readonly Timed[] {
  const command = (name: string, words: readonly string[]): Timed => ({
    name,
    isWhole: true,
    ms: () => timeOf(1, () => runToEnd(words, work)),
  });
  const call = ['call', 'palisade.echo', '--input', '{"message":"hi"}', '--state'];
  const turn = { count: 0 };
  // A command that the policies have not been asked about before.
  const another = () => [
    BIN,
    'exec',
    '--workspace',
    work,
    '--state',
    state,
    '--',
    TRUE,
    String(turn.count++),
  ];
  let greeted: Greeted = { initializeMs: Number.NaN, listMs: Number.NaN };
  return [
    command(BARE, ['-e', '0']),
    command('palisade --version', [BIN, '--version']),
    command('exec -- true', [BIN, 'exec', '--workspace', work, '--state', state, '--', TRUE]),
    { name: 'exec, another command', isWhole: true, ms: () => timeOf(1, () => runToEnd(another(), work)) },
    command('exec -- true, daemon', [BIN, 'exec', '--state', served, '--', TRUE]),
    command('call palisade.echo', [BIN, ...call, state]),
    command('call palisade.echo, daemon', [BIN, ...call, served]),
    {
      name: 'mcp, initialize',
      ms: async () => {
        greeted = await greet(state);
        return greeted.initializeMs;
      },
    },
    { name: 'mcp, tools/list', ms: async () => greeted.listMs },
    command(PEER, [peer, TRUE]),
  ];
}

const BARE = 'node -e 0';
const PEER = "sandbox-runtime's CLI, true";

/** Against Node, and against the peer. */
const GOALS: Readonly<Record<string, { readonly node?: number; readonly peer?: number }>> = {
  'palisade --version': { node: 1.5 },
  'exec -- true': { node: 2.2, peer: 0.5 },
  'exec -- true, daemon': { node: 1.6 },
  'call palisade.echo': { node: 2.2 },
  'call palisade.echo, daemon': { node: 1.5 },
  'mcp, initialize': { node: 2.2 },
};

async function measure(all: readonly Timed[], rounds: number): Promise<Figure[]> {
  const times = new Map<string, number[]>(all.map(({ name }) => [name, []]));
  const ticks = new Map<string, number>();
  for (let round = -3; round < rounds; round += 1) {
    // What follows what is different in each round; a list of tools comes after its greeting.
    const order = all
      .map((_, i) => all[(i + Math.max(round, 0)) % all.length])
      .filter((each) => each !== undefined);
    for (const { name, ms } of order) {
      const before = childTicks();
      const took = await ms();
      if (round < 0) continue;
      times.get(name)?.push(took);
      ticks.set(name, (ticks.get(name) ?? 0) + childTicks() - before);
    }
  }
  const of = (name: string) => times.get(name) ?? [];
  const ratio = (name: string, to: string) =>
    spreadOf(
      of(name)
        .map((ms, i) => ms / (of(to)[i] ?? Number.NaN))
        .filter(Number.isFinite),
    );
  const ratios = all.flatMap(({ name }): Figure[] => {
    if (name === BARE) return [];
    const { node, peer } = GOALS[name] ?? {};
    const against = (to: string, atMost: number | undefined): Figure => ({
      name: `${name} / ${to}`,
      unit: 'x',
      spread: ratio(name, to),
      ...(atMost === undefined ? {} : { goal: { atMost } }),
    });
    return [against(BARE, node), ...(peer === undefined ? [] : [against(PEER, peer)])];
  });
  const absolute = all.map(
    ({ name }): Figure => ({ name, unit: 'ms', spread: spreadOf(of(name).filter(Number.isFinite)) }),
  );
  const whole = all.filter(({ name, isWhole }) => isWhole === true && name !== BARE);
  const processor = whole.map(
    ({ name }): Figure => ({
      ...{ name: `${name} / ${BARE}`, unit: 'x', note: 'processor time' },
      spread: single((ticks.get(name) ?? Number.NaN) / (ticks.get(BARE) ?? Number.NaN)),
    }),
  );
  return [...ratios, ...processor, ...absolute];
}

/** The processor time that ended children of this process have taken, with theirs, in ticks of the kernel (Linux). */
function childTicks(): number {
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(13, 15);
  return Number(user) + Number(system);
}

async function serve({ served, work }: Bed): Promise<ChildProcess> {
  const words = [BIN, 'serve', '--workspace', work, '--state', served, '--listen', '127.0.0.1:0'];
  const daemon = spawnProcess(process.execPath, words, { cwd: work, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  for await (const chunk of daemon.stderr) {
    said += chunk;
    if (said.includes('serving')) break;
  }
  if (!said.includes('serving')) throw new Error(`Cannot measure start: the daemon does not serve\n${said}`);
  return daemon;
}

const clientInfo = { name: 'bench', version: '1' };
const MESSAGES = [
  { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list', params: {} },
].map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

type Greeted = { readonly initializeMs: number; readonly listMs: number };

/** The next start begins when nothing of this one is running any more. */
async function greet(state: string): Promise<Greeted> {
  const startedMs = performance.now();
  const child = spawnProcess(process.execPath, [BIN, 'mcp', '--state', state], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.write(MESSAGES.join(''));
  const answeredMs: number[] = [];
  for await (const chunk of child.stdout) {
    const lines = chunk.toString().split('\n').length - 1;
    for (let line = 0; line < lines; line += 1) answeredMs.push(performance.now() - startedMs);
    if (answeredMs.length >= 2) break;
  }
  child.stdin.end();
  if (child.exitCode === null) await once(child, 'exit');
  const [initializeMs = Number.NaN, listMs = Number.NaN] = answeredMs;
  return { initializeMs, listMs };
}

function runToEnd(words: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(process.execPath, words, { cwd, encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`Cannot measure start: "${words.join(' ')}" ended with ${status}\n${stderr}`);
}
