import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { race } from '../../packages/gateway/test/budget/race.ts';
import { palisade } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { scratch } from '../fixtures/cli.ts';
import { volume } from '../volume/volume.ts';

/*
 * Many gateways on one state directory, each a process: they wait for each other and make their calls in the same
 * moment. The same races of a hundred processes, without the line around them, are in the tests of budgets and approvals.
 */

const CALLS = 100;
const PROCESSES = volume(10, 4);
const PROGRAM = new URL('../fixtures/racing-calls.ts', import.meta.url);

type Ended = { readonly callId: string; readonly status: string; readonly code: string };

/** The same call a hundred times, from so many processes at once. */
async function raceFrom(processes: number, state: string, words: readonly string[]): Promise<Ended[]> {
  const args = [state, String(CALLS / processes), ...words];
  const lines = await race(
    PROGRAM,
    Array.from({ length: processes }, () => args),
  );
  return lines.flatMap((line) => JSON.parse(line) as Ended[]);
}

function countByCode(ended: readonly Ended[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { code } of ended) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

async function endedCalls(state: string, tool: string): Promise<string[]> {
  const words = ['journal', 'search', '--kind', 'ended', '--tool', tool, '--limit', '1000', '--json'];
  const { out } = await palisade([...words, '--state', state]);
  return (JSON.parse(out) as { records: { call: string }[] }).records.map(({ call }) => call);
}

describe('a hundred calls of many processes on one state directory', () => {
  test('race for a budget of 50 calls: exactly 50 run', async () => {
    const state = scratch();
    writeFileSync(
      join(state, 'palisade.toml'),
      '[[budget]]\nname = "fifty"\nper = "tenant"\nwindow = "1d"\ncalls = 50\n',
    );
    const ended = await raceFrom(PROCESSES, state, ['default', 'palisade.echo', '{"message":"go"}']);
    expect(countByCode(ended)).toEqual({ ok: 50, 'budget/calls-exhausted': 50 });
    const ran = ended.filter(({ status }) => status === 'ok').map(({ callId }) => callId);
    expect((await endedCalls(state, 'palisade.echo')).sort()).toEqual(ran.sort());
    expect((await palisade(['journal', 'verify', '--state', state])).status).toBe(0);
  });

  test('race for one approval: exactly one runs', async () => {
    const state = scratch();
    const input = '{"ms":10001}';
    const call = ['call', 'palisade.sleep', '--input', input, '--as', 'agent:ada', '--timeout', '50'];
    const requested = JSON.parse((await palisade([...call, '--json', '--state', state])).out) as Ended & {
      readonly message: string;
    };
    expect(requested.code).toBe('policy/approval-required');
    const [id = ''] = /apr_\w+/.exec(requested.message) ?? [];
    expect((await palisade(['approvals', 'approve', id, '--state', state])).status).toBe(0);
    const ended = await raceFrom(PROCESSES, state, ['default', 'palisade.sleep', input]);
    // The one that runs is stopped by its time limit; that it ran is what counts.
    expect(countByCode(ended)).toEqual({ 'tier/timed-out': 1, 'policy/approval-required': 99 });
    expect(await endedCalls(state, 'palisade.sleep')).toHaveLength(1);
    expect((await palisade(['journal', 'verify', '--state', state])).status).toBe(0);
  });
});
