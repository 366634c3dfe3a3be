import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { orElse } from '../../packages/gateway/src/core/result.ts';
import { BACKGROUND_LIMITS } from '../../packages/gateway/src/executors/background/runs.ts';
import { openGateway } from '../../packages/gateway/src/open.ts';
import { readResult } from '../../packages/gateway/src/results/results.ts';
import { AGENT, callerNamed, openBackground, python } from '../fixtures/commands/background.ts';
import { heldGateway } from '../fixtures/commands/held.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { ask, freePorts } from '../fixtures/commands/ports.ts';

/** Forks away into a session of its own, and ignores that it is asked to end. */
const LEAVES = `
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0: os.setsid()
while True: time.sleep(1)
`;

const COMMANDS_NEED_APPROVAL = `
@id("approved")
forbid (principal, action == Action::"call", resource == Tool::"palisade.process.run")
unless { context.approved };
`;

/** Does nothing until it is asked to end. */
const WAITS = `import time\nprint('up')\ntime.sleep(600)`;

describe('a background run', () => {
  test('exists for its own principal and tenant alone', async () => {
    const { call, facts } = await openBackground();
    const { id } = await facts('start', python(WAITS));
    const others = [callerNamed('eve'), callerNamed('ada', 'elsewhere')];
    for (const by of others) {
      for (const act of ['logs', 'stop'] as const) {
        const { outcome } = await call(act, { id }, by);
        expect(outcome).toMatchObject({ status: 'failed', code: 'tier/tool-error' });
        const missing = await call(act, { id: 'call_forged' }, by);
        expect(outcome).toMatchObject({
          message: String(missing.outcome.status === 'failed' && missing.outcome.message).replace(
            'call_forged',
            id,
          ),
        });
      }
      expect((await facts('logs', {}, by)).runs).toEqual([]);
    }
    expect(await facts('logs', { id }, AGENT)).toMatchObject({ running: true, text: 'up\n' });
  });

  test('that ignores SIGTERM and forks away is killed with all that it started', async () => {
    const { facts, workspace, call } = await openBackground();
    const program = `
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: print('ignored'))
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        open('beats', 'a').write('x')
        time.sleep(0.02)
print('up')
while True: time.sleep(1)
`;
    const { id } = await facts('start', python(program));
    const size = async () => {
      const { outcome } = await call('run', { command: 'stat', args: ['-c', '%s', `${workspace}/beats`] });
      return outcome.status === 'ok' ? Number((outcome.output as { stdout: string }).stdout) : 0;
    };
    while ((await size()) === 0);
    expect(await facts('stop', { id })).toMatchObject({ running: false, code: 'tier/cancelled' });
    expect((await facts('logs', { id })).text).toContain('ignored');
    const last = await size();
    expect(last).toBeGreaterThan(0);
    expect(await size()).toBe(last);
  });

  test('that floods its log keeps the end of it, and goes on', async () => {
    const { facts } = await openBackground();
    const program = `
import sys, time
for number in range(100000): sys.stdout.write('line %06d äöü\\n' % number)
sys.stdout.flush()
print('flooded')
time.sleep(600)
`;
    const { id } = await facts('start', python(program));
    let read = await facts('logs', { id });
    while (!read.text.endsWith('flooded\n')) read = await facts('logs', { id });
    expect(read).toMatchObject({ running: true });
    expect(Buffer.byteLength(read.text)).toBeLessThanOrEqual(16 * 1024);
    expect(read.text).toContain('line 099999 äöü\n');
    const continued = await facts('logs', { id, since: 1, max_bytes: 1000 });
    expect(continued.lostBytes).toBeGreaterThan(0);
    expect(continued.text).not.toContain('\ufffd');
    expect(await facts('logs', { id, since: 2 ** 52 })).toMatchObject({ text: '', lostBytes: 0 });
  });

  test('is one of a few for each principal', async () => {
    const { call, facts } = await openBackground();
    const ids = [];
    for (let run = 0; run < BACKGROUND_LIMITS.perPrincipal; run++)
      ids.push((await facts('start', { command: 'sleep', args: ['600'] })).id);
    const refused = await call('start', { command: 'sleep', args: ['600'] });
    expect(refused.outcome).toMatchObject({ status: 'failed', code: 'tier/not-started' });
    await facts('stop', { id: ids[0] });
    expect(await facts('start', { command: 'sleep', args: ['600'] })).toMatchObject({ running: true });
  });

  test('ends at its limit, when its budget is spent, and with the gateway', async () => {
    const { gateway, call, facts, close } = await openBackground(
      '[[budget]]\nname = "commands"\nper = "tool"\nmatch = "palisade.process.run"\nwindow = "1d"\nwall_ms = 3_000\n',
    );
    const limited = await facts('start', { command: 'sleep', args: ['600'], limits: { wall_ms: 900 } });
    const spending = await facts('start', { command: 'sleep', args: ['600'] });
    let [first, second] = (await facts('logs', {})).runs;
    while (first?.running !== false || second?.running !== false)
      [first, second] = (await facts('logs', {})).runs;
    expect([first, second]).toMatchObject([
      { id: limited.id, code: 'tier/timed-out' },
      { id: spending.id, code: 'tier/timed-out' },
    ]);
    const spent = await call('start', { command: 'sleep', args: ['600'] });
    expect(spent.outcome).toMatchObject({
      code: 'tier/not-started',
      message: expect.stringContaining('budget'),
    });
    expect(gateway.running.size).toBe(0);
    await close();
  });

  test('is refused where a policy refuses the command, with the reason and its remedy', async () => {
    const { call } = await openBackground('', COMMANDS_NEED_APPROVAL);
    const { outcome } = await call('start', { command: 'sleep', args: ['600'] });
    expect(outcome).toMatchObject({
      status: 'failed',
      code: 'tier/not-started',
      message: expect.stringMatching(/needs the approval apr_/),
      remedy: expect.stringContaining('palisade approvals approve apr_'),
    });
  });
});

test('a policy that forbids the command ends a background run that was started before', async () => {
  const { facts, stateDir } = await openBackground();
  const { id } = await facts('start', python(WAITS));
  expect(await facts('logs', { id })).toMatchObject({ running: true });
  writeFileSync(join(stateDir, 'policies/more.cedar'), COMMANDS_NEED_APPROVAL);
  let read = await facts('logs', { id });
  while (read.running) {
    await sleep(50);
    read = await facts('logs', { id });
  }
  expect(read).toMatchObject({ code: 'tier/cancelled' });
});

test('the close of a gateway ends its background runs', async () => {
  const { gateway, facts, close } = await openBackground();
  const { id } = await facts('start', python(WAITS));
  expect(gateway.running.get(id)).not.toBeNull();
  await close();
  expect(gateway.running.get(id)).toBeNull();
});

describe('a gateway that is killed', () => {
  const made = heldGateway(new URL('../fixtures/commands/programs/starts-in-background.ts', import.meta.url));

  test('leaves nothing of its background runs alive, and the next one closes their calls', async () => {
    const [port = 0] = await freePorts(1);
    const directories = makeDirectories(`[process]\nports = ["${port}"]\n`);
    const { stateDir, workspace } = directories;
    onTestFinished(() => rmSync(dirname(stateDir), { recursive: true, force: true }));
    const marker = `palisade-marker-${randomInt(2 ** 40)}`;
    const input = { command: '/usr/bin/python3', args: ['-c', LEAVES, marker], ports: [port] };
    const words = [await made(), stateDir, workspace, JSON.stringify(input)];
    const gateway = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' });
    const gone = once(gateway, 'exit');
    const [said] = await once(gateway.stdout, 'data');
    const { id, running } = JSON.parse(String(said)) as { id: string; running: boolean };
    expect(running).toBe(true);
    while (processesWith(marker).filter((pid) => pid !== gateway.pid).length < 2) await sleep(20);
    // Nothing in the run listens, but the port of the host is open.
    expect(await ask(port, '')).toBe('ECONNRESET');
    gateway.kill('SIGKILL');
    await gone;
    expect(await ask(port, '')).toBe('ECONNREFUSED');
    while (processesWith(marker).length > 0) await sleep(20);
    const next = await openGateway({ stateDir, env: readEnvironment({}), version: '0.0.0', cwd: workspace });
    onTestFinished(() => next.close());
    expect(readResult(next.store, id)).toMatchObject({ code: 'tier/unknown-ending' });
  });
});

/** Every process whose arguments have this text. */
function processesWith(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => orElse(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text), false))
    .map(Number);
}
