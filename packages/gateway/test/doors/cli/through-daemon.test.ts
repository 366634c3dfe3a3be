import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/open.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { openSetup, withFlags } from './daemon-setup.ts';
import type { Ran } from './fake-edge.ts';

/* What commands do through the daemon of their state directory, and without it. */

const ECHO = ['call', 'palisade.echo', '--input', '{"message":"hi"}'];

/** Everything but what differs from call to call. */
function comparable({ status, out, err }: Ran) {
  const plain = (text: string) =>
    text
      .replace(/call_[0-9a-z]+/g, 'CALL')
      .replace(/"wallMs":[0-9]+|[0-9]+ ms/g, 'TIME')
      .replace(/"(payload|sig)":"[^"]*"/g, '"$1":""');
  return { status, out: plain(out), err: plain(err) };
}

test.each([
  ['a call that ends well', ECHO],
  ['a call that ends well, as a document', [...ECHO, '--json', '--as', 'agent:bob', '--run', 'r1']],
  ['a call of a tool that is not there', ['call', 'no.such.tool', '--json']],
  ['an input that is no JSON', ['call', 'palisade.echo', '--input', '{"a":1,"a":2}']],
  ['a call past its time', ['call', 'palisade.sleep', '--input', '{"ms":5000}', '--timeout', '20', '--json']],
  ['a name of a run that is none', [...ECHO, '--run', '-']],
])('%s says and returns the same through the daemon as without it', async (_, words) => {
  const { run, opened } = await openSetup();
  const through = await run(words);
  expect(opened.times).toBe(0);
  const embedded = await run([...words, '--embedded']);
  expect(opened.times).toBe(1);
  expect(comparable(through)).toEqual(comparable(embedded));
});

test('a receipt by the daemon names the command line as the door, like one without it', async () => {
  const { run } = await openSetup();
  const doors = [];
  for (const words of [ECHO, [...ECHO, '--embedded']]) {
    const { out } = await run([...words, '--json']);
    const { predicate } = JSON.parse(Buffer.from(JSON.parse(out).receipt.payload, 'base64').toString());
    doors.push(predicate.call.door);
  }
  expect(doors).toEqual(['cli', 'cli']);
});

test('a call is cancelled with the command that waits for it, and told', async () => {
  const { run, opened, countRunning } = await openSetup();
  const cancel = new AbortController();
  const words = ['call', 'palisade.sleep', '--input', '{"ms":60000}', '--json'];
  const running = run(words, { signal: cancel.signal });
  await expect.poll(countRunning, { timeout: 20_000 }).toBe(1);
  cancel.abort(new Error('cancelled'));
  const { out, status } = await running;
  expect(JSON.parse(out)).toMatchObject({ status: 'failed', code: 'tier/cancelled' });
  expect(countRunning()).toBe(0);
  expect([status, opened.times]).toEqual([1, 0]);
});

test('a call is made in the command itself once the daemon is gone, whatever it left behind', async () => {
  const { run, opened, close, stateDir } = await openSetup();
  const facts = {
    pid: 1,
    url: 'http://127.0.0.1:1',
    startedAt: '',
    version: '0.0.0',
    cwd: '/',
    roots: [],
    hasWorkspaces: false,
  };
  await close();
  writeFileSync(join(stateDir, 'daemon.json'), JSON.stringify(facts), { mode: 0o600 });
  expect((await run(ECHO)).status).toBe(0);
  writeFileSync(join(stateDir, 'palisade.sock'), '');
  expect((await run(ECHO)).status).toBe(0);
  expect(opened.times).toBe(2);
  rmSync(join(stateDir, 'daemon.json'));
});

test('a daemon of another version is not asked', async () => {
  const { run, opened } = await openSetup();
  await run(ECHO, { version: '9.9.9' });
  expect(opened.times).toBe(1);
});

test('a daemon that read other settings than those of now is not asked, and the command says so', async () => {
  const { run, opened, stateDir } = await openSetup();
  const path = join(stateDir, 'palisade.toml');
  writeFileSync(path, '[limits]\noutput_bytes = 5\n');
  const later = new Date(systemClock.nowMs() + 5_000);
  utimesSync(path, later, later);
  const { out, err } = await run([...ECHO, '--json']);
  expect(JSON.parse(out)).toMatchObject({ code: 'tier/output-exceeded' });
  expect(err).toContain('palisade.toml changed after `palisade serve` was started');
  expect(opened.times).toBe(1);
});

test('a daemon logs the policies that it takes and those that it refuses', async () => {
  const { run, stateDir, logged } = await openSetup({ toml: '[policy]\nreload_ms = 1\n' });
  await run(ECHO);
  writeFileSync(join(stateDir, 'policies', 'more.cedar'), 'forbid(principal');
  await expect.poll(async () => (await run(ECHO)).err).toContain('The policy files have problems');
  expect(logged).toContainEqual(['warn', 'policy-refused']);
  writeFileSync(join(stateDir, 'policies', 'more.cedar'), 'forbid(principal, action, resource);');
  await expect.poll(async () => (await run(ECHO)).status).toBe(2);
  expect(logged.filter(([, event]) => event === 'policy-loaded').length).toBe(2);
});

test('a command runs by the daemon only where its workspace is the same', async () => {
  const elsewhere = await openSetup({ cwd: '/' });
  const words = ['exec', '--tier', 'b', '--', 'pwd'];
  await elsewhere.run(words);
  expect(elsewhere.opened.times).toBe(1);
  const named = await openSetup({ cwd: '/', toml: '[process]\nworkspaces = ["WORK"]\n' });
  const { out, status } = await named.run(words);
  expect([status, out, named.opened.times]).toEqual([0, `${named.work}\n`, 0]);
  // A directory that only this command line grants is not a root of the daemon; one that both grant is.
  const other = tempDir();
  const granted = await named.run(withFlags(words, ['--workspace', other]));
  expect([granted.status, granted.out, named.opened.times]).toEqual([0, `${other}\n`, 1]);
  const both = await named.run(withFlags(words, ['--workspace', named.work]));
  expect([both.status, both.out, named.opened.times]).toEqual([0, `${named.work}\n`, 1]);
});

test('a command prints and ends by the daemon as it would by itself', async () => {
  const { run, opened } = await openSetup();
  const script = 'printf "out\\377"; printf err >&2; exit 7';
  const words = ['exec', '--tier', 'b', '--', 'sh', '-c', script];
  const through = await run(words);
  expect([through.status, opened.times]).toEqual([7, 0]);
  const embedded = await run(withFlags(words, ['--embedded']));
  expect(opened.times).toBe(1);
  expect(comparable(through)).toEqual(comparable(embedded));
});

test('a command goes on in the background of the daemon, is read, listed and stopped', async () => {
  const { run, opened } = await openSetup();
  const script = 'echo up; exec sleep 600';
  const started = await run(['exec', '--tier', 'b', '--detach', '--', 'sh', '-c', script]);
  const [said, id = ''] = started.out.split('\n');
  expect([started.status, said]).toEqual([0, 'up']);
  expect((await run(['background', 'list'])).out).toMatch(new RegExp(`${id} +running .*sh -c echo up`));
  expect(await run(['background', 'logs', id])).toMatchObject({ status: 0, out: 'up\n' });
  expect((await run(['background', 'logs', id, '--as', 'agent:eve'])).err).toContain('tier/tool-error');
  const stopped = await run(['background', 'stop', id]);
  expect(stopped.status).toBe(0);
  expect(stopped.err).toContain('was killed by SIGTERM');
  expect((await run(['background', 'list'])).out).toMatch(new RegExp(`${id} +tier/exited`));
  const failing = await run(['exec', '--tier', 'b', '--detach', '--', 'sh', '-c', 'echo no >&2; exit 3']);
  expect(failing).toMatchObject({
    status: 1,
    out: 'no\n',
    err: expect.stringContaining('exited with status 3'),
  });
  expect(opened.times).toBe(0);
});

test.each([
  ['exec', '--detach', '--', 'true'],
  ['background', 'list'],
  ['background', 'stop', 'call_0'],
])('%s %s names the daemon that it needs', async (...words) => {
  const { run, close } = await openSetup();
  await close();
  const { status, err } = await run(words);
  expect(status).toBe(1);
  expect(err).toContain('palisade serve');
});
