import { spawn as spawnProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchOptions, compare, type Figure, spreadOf, timeOf } from './measure.ts';

/*
 * What a user waits for: the whole process, from spawn to exit, and what an MCP client waits for: from spawn to the
 * answer to `initialize` and to the list of tools, which needs the open gateway. Against a Node that does nothing.
 */

const BIN = join(process.cwd(), 'packages/gateway/bin/palisade.js');

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const rounds = quick ? 8 : 40;
  const bare = () => spawn(['-e', '0']);
  const version = await compare(rounds, 1, () => spawn([BIN, '--version']), bare);
  const state = mkdtempSync(join(scratch, 'state-'));
  const call = () => spawn([BIN, 'call', 'palisade.echo', '--input', '{"message":"hi"}', '--state', state]);
  const called = await compare(quick ? 5 : 20, 1, call, bare);
  const greeted = await greetings(quick ? 5 : 15, state, bare);
  return [
    { name: 'palisade --version / node -e 0', unit: 'x', spread: version.ratio, goal: { atMost: 1.5 } },
    { name: 'palisade --version', unit: 'ms', spread: version.ours },
    { name: 'node -e 0', unit: 'ms', spread: version.bare },
    { name: 'palisade call palisade.echo / node -e 0', unit: 'x', spread: called.ratio, note: 'warm state' },
    { name: 'palisade call palisade.echo', unit: 'ms', spread: called.ours, note: 'warm state' },
    {
      ...{ name: 'palisade mcp, initialize / node -e 0', unit: 'x', note: 'warm state' },
      spread: spreadOf(greeted.map(({ initializeMs, bareMs }) => initializeMs / bareMs)),
      goal: { atMost: 3 },
    },
    {
      ...{ name: 'palisade mcp, initialize', unit: 'ms', note: 'warm state' },
      spread: spreadOf(greeted.map(({ initializeMs }) => initializeMs)),
    },
    {
      ...{ name: 'palisade mcp, tools/list', unit: 'ms', note: 'sent with initialize' },
      spread: spreadOf(greeted.map(({ listMs }) => listMs)),
    },
  ];
}

const clientInfo = { name: 'bench', version: '1' };
const MESSAGES = [
  { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list', params: {} },
].map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

type Greeted = { readonly initializeMs: number; readonly listMs: number };

/** Starts that begin when nothing of the one before is running any more. */
async function greetings(rounds: number, state: string, bare: () => void) {
  const times: (Greeted & { readonly bareMs: number })[] = [];
  await greet(state);
  for (let round = 0; round < rounds; round += 1)
    times.push({ ...(await greet(state)), bareMs: await timeOf(1, bare) });
  return times;
}

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

function spawn(words: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`Cannot measure start: "${words.join(' ')}" ended with ${status}\n${stderr}`);
}
