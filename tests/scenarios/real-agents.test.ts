import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { setUpFolder } from '../../tools/setup.mjs';
import { type AgentClient, PLAIN_CLIENT, REAL_CLIENTS } from '../fixtures/agents/clients.table.ts';
import { makeUser, operate, palisade, runAgent, type User } from '../fixtures/agents/drive.ts';
import { VOLUME } from '../volume/volume.ts';

/*
 * Coding agents that people use, each with a fake model and without a network: the agent runs a command in the jail, reads
 * a refusal, waits for an approval and goes on. The real ones are big, so they run where everything is proved; `npm test`
 * walks the same story with a plain client.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOOL = 'palisade.process.run';
const CLIENTS = [PLAIN_CLIENT, ...(VOLUME === 1 ? REAL_CLIENTS : [])];
/** To install one, and for one to run on a busy machine. */
const NEEDS_MS = 300_000;

type JournalRecord = {
  readonly kind: string;
  readonly tool: string | null;
  readonly call: string;
};

/** What became of the commands of an agent, in their order: what the receipts say, and whether they verify. */
async function callsOf(user: User, { id }: AgentClient) {
  const search = ['journal', 'search', '--principal', `agent:${id}`, '--oldest-first', '--limit', '200'];
  const { records } = await operate<{ records: readonly JournalRecord[] }>(user, ...search);
  const ends = records.filter(({ kind, tool }) => tool === TOOL && (kind === 'ended' || kind === 'refused'));
  return Promise.all(
    ends.map(async ({ call }) => {
      const file = join(user.state, `${call}.json`);
      await operate(user, 'receipt', call, '--out', file);
      const { ok } = await operate<{ ok: boolean }>(user, 'verify', file);
      const payload = JSON.parse(readFileSync(file, 'utf8')).payload;
      const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString());
      return { ok, ...predicate };
    }),
  );
}

describe.each(CLIENTS)('$name', (client) => {
  const { id, folder } = client;

  beforeAll(async () => {
    if (folder !== null) await setUpFolder(ROOT, folder, () => {});
  }, NEEDS_MS);

  test('runs a command, reads a refusal, waits for an approval and goes on', {
    timeout: NEEDS_MS,
  }, async () => {
    const user = makeUser(client);
    expect((await palisade(user, 'init')).status).toBe(0);
    expect((await palisade(user, 'connect', id)).status).toBe(0);
    const run = await runAgent(client, user);
    const told = JSON.stringify(run, null, 2);

    expect(
      run.seen.flatMap(({ problem }) => problem ?? []),
      told,
    ).toEqual([]);
    expect(run.status, told).toBe(0);
    expect(run.interfaces).toEqual(['lo']);
    const [, counted, refused, waiting, ran, ...more] = run.out.split('SAW ');
    expect([ran === undefined, more], told).toEqual([false, []]);
    expect(counted).toContain('3 notes.txt');
    expect(refused).toContain('policy/denied');
    expect(refused).toContain('no-cloud-metadata');
    expect(waiting).toContain('policy/approval-required');
    expect(waiting).toContain('never run it yourself');
    expect(waiting).toMatch(/palisade approvals approve apr_\w+ --state \/\S+\/state\b/);
    expect(ran).toContain("'notes.txt' -> 'ran.txt'");

    const calls = await callsOf(user, client);
    expect(calls.filter(({ ok }) => !ok)).toEqual([]);
    const outcomes = calls.map(({ outcome }) => outcome.code);
    expect(outcomes.filter((code) => code !== 'policy/approval-required')).toEqual([
      'ok',
      'policy/denied',
      'ok',
    ]);
    expect(outcomes[2]).toBe('policy/approval-required');
    expect(calls[0]).toMatchObject({ execution: { tier: 'c' } });
    expect(calls.at(-1)?.approval).toMatchObject({ by: 'user:grace' });
    expect(readFileSync(join(user.project, 'ran.txt'), 'utf8')).toBe('one\ntwo\nthree\n');
    expect((await palisade(user, 'journal', 'verify')).status).toBe(0);
  });
});
