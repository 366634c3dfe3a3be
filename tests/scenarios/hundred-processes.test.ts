import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { palisade, scratch } from '../fixtures/cli.ts';

const RACERS = 100;

type Ended = { readonly callId: string; readonly status: string; readonly code: string };

/** The same call from many processes at once. */
function race(args: readonly string[]): Promise<Ended[]> {
  const racers = Array.from({ length: RACERS }, async () => {
    const { out, err } = await palisade(args);
    if (out === '') throw new Error(`Cannot read what a racer printed: ${err}`);
    return JSON.parse(out) as Ended;
  });
  return Promise.all(racers);
}

function countByCode(ended: readonly Ended[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { code } of ended) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

async function endedCalls(state: string, tool: string): Promise<string[]> {
  const { out } = await palisade([
    'journal',
    'search',
    '--kind',
    'ended',
    '--tool',
    tool,
    '--limit',
    '1000',
    '--json',
    '--state',
    state,
  ]);
  return (JSON.parse(out) as { records: { call: string }[] }).records.map(({ call }) => call);
}

describe('a hundred processes on one state directory', () => {
  test('race for a budget of 50 calls: exactly 50 run', async () => {
    const state = scratch();
    writeFileSync(
      join(state, 'palisade.toml'),
      '[[budget]]\nname = "fifty"\nper = "tenant"\nwindow = "1d"\ncalls = 50\n',
    );
    const ended = await race([
      'call',
      'palisade.echo',
      '--input',
      '{"message":"go"}',
      '--json',
      '--state',
      state,
    ]);
    expect(countByCode(ended)).toEqual({ ok: 50, 'budget/calls-exhausted': 50 });
    const ran = ended.filter(({ status }) => status === 'ok').map(({ callId }) => callId);
    expect((await endedCalls(state, 'palisade.echo')).sort()).toEqual(ran.sort());
    expect((await palisade(['journal', 'verify', '--state', state])).status).toBe(0);
  }, 240_000);

  test('race for one approval: exactly one runs', async () => {
    const state = scratch();
    const call = [
      'call',
      'palisade.sleep',
      '--input',
      '{"ms":10001}',
      '--as',
      'agent:ada',
      '--timeout',
      '50',
      '--json',
      '--state',
      state,
    ];
    const asked = JSON.parse((await palisade(call)).out) as Ended & { message: string };
    expect(asked.code).toBe('policy/approval-required');
    const [id = ''] = /apr_\w+/.exec(asked.message) ?? [];
    expect((await palisade(['approvals', 'approve', id, '--state', state])).status).toBe(0);
    const ended = await race(call);
    // The one that runs is stopped by its time limit; that it ran is what counts.
    expect(countByCode(ended)).toEqual({ 'tier/timed-out': 1, 'policy/approval-required': 99 });
    expect(await endedCalls(state, 'palisade.sleep')).toHaveLength(1);
    expect((await palisade(['journal', 'verify', '--state', state])).status).toBe(0);
  }, 240_000);
});
