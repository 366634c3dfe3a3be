import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchOptions, compare, type Figure } from './measure.ts';

/* What a user waits for: the whole process, from spawn to exit, against a Node that does nothing. */

const BIN = join(process.cwd(), 'packages/gateway/bin/palisade.js');

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const rounds = quick ? 8 : 40;
  const bare = () => spawn(['-e', '0']);
  const version = await compare(rounds, 1, () => spawn([BIN, '--version']), bare);
  const state = mkdtempSync(join(scratch, 'state-'));
  const call = () => spawn([BIN, 'call', 'palisade.echo', '--input', '{"message":"hi"}', '--state', state]);
  const called = await compare(quick ? 5 : 20, 1, call, bare);
  return [
    { name: 'palisade --version / node -e 0', unit: 'x', spread: version.ratio, goal: { atMost: 1.5 } },
    { name: 'palisade --version', unit: 'ms', spread: version.ours },
    { name: 'node -e 0', unit: 'ms', spread: version.bare },
    { name: 'palisade call palisade.echo / node -e 0', unit: 'x', spread: called.ratio, note: 'warm state' },
    { name: 'palisade call palisade.echo', unit: 'ms', spread: called.ours, note: 'warm state' },
  ];
}

function spawn(words: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`Cannot measure start: "${words.join(' ')}" ended with ${status}\n${stderr}`);
}
