import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PalisadeClient, PalisadeError } from '@palisade/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { openRecords } from '../../packages/gateway/src/open.ts';
import { reservations } from '../../packages/gateway/test/budget/reservations.ts';
import { palisade } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { bodyOf, recordsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { PALISADE } from '../fixtures/cli.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { sample } from '../volume/volume.ts';

/* Agents go on calling while their gateway is restarted and killed under them; each call is one call all the same. */

const CLIENTS = 4;
const ENDS: readonly NodeJS.Signals[] = sample(
  ['SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL'],
  2,
);
const directories = makeDirectories('');
const { stateDir, workspace } = directories;

/** How one call ended for whoever made it. */
type Answer = { readonly name: string; readonly callId: string | null; readonly code: string };

type House = { readonly port: number; readonly token: string };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function start({ port }: Pick<House, 'port'>): Promise<ChildProcess> {
  const words = [PALISADE, 'serve', '--state', stateDir, '--listen', `127.0.0.1:${port}`, '--quiet'];
  const child = spawn(process.execPath, [...words, '--workspace', workspace], {
    cwd: workspace,
    stdio: 'ignore',
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`Cannot serve: the gateway ended with ${child.exitCode}`);
    const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return child;
    await sleep(20);
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
  return child.exitCode;
}

const linesOf = (name: string): string[] => {
  try {
    return readFileSync(join(workspace, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
};

/** One agent: it makes a call, waits for its answer, and makes the next, until it is told to stop. */
async function agent(client: PalisadeClient, who: string, isOver: () => boolean): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let i = 0; !isOver(); i++) {
    const name = `${who}-${i}`;
    const script = `echo ${name} >> begun; sleep 0.15; echo ${name} >> done`;
    const call = { tool: 'palisade.process.run', input: { command: 'sh', args: ['-c', script] } };
    answers.push(
      await client.calls.run(call, { idempotencyKey: `key-${name}` }).then(
        ({ callId, code }) => ({ name, callId, code }),
        (error: unknown) => {
          if (!(error instanceof PalisadeError)) throw error;
          return { name, callId: error.callId, code: error.code };
        },
      ),
    );
  }
  return answers;
}

describe('a gateway that is restarted and killed under load', () => {
  let answers: readonly Answer[] = [];
  const statuses: (number | null)[] = [];
  const started: ChildProcess[] = [];

  beforeAll(async () => {
    const words = ['--principal', 'agent:load', '--scopes', 'call', '--expires', '1h', '--json'];
    const made = await palisade(['token', 'create', ...words, '--state', stateDir]);
    const setup = { port: await freePort(), token: JSON.parse(made.out).token as string };
    let child = await start(setup);
    started.push(child);
    let isOver = false;
    const agents = Array.from({ length: CLIENTS }, (_, i) => {
      const { port, token } = setup;
      const client = new PalisadeClient({ url: `http://127.0.0.1:${port}`, token, retries: 100 });
      return agent(client, `agent${i}`, () => isOver);
    });
    for (const signal of ENDS) {
      const before = linesOf('done').length;
      // It works again, and just now some commands run.
      while (linesOf('done').length < before + CLIENTS || linesOf('begun').length === linesOf('done').length)
        await sleep(5);
      statuses.push(await end(child, signal));
      child = await start(setup);
      started.push(child);
    }
    isOver = true;
    answers = (await Promise.all(agents)).flat();
    statuses.push(await end(child, 'SIGTERM'));
  });
  afterAll(() => {
    for (const child of started) child.kill('SIGKILL');
    rmSync(dirname(stateDir), { recursive: true, force: true });
  });

  test('ends well each time that it was told to', () => {
    expect(statuses).toEqual([...ENDS.map((signal) => (signal === 'SIGTERM' ? 0 : null)), 0]);
  });

  test('has an answer for every call, and loses sight only of those that a kill cut off', () => {
    const codes = new Map<string, number>();
    for (const { code } of answers) codes.set(code, (codes.get(code) ?? 0) + 1);
    expect([...codes.keys()].filter((code) => code !== 'ok' && code !== 'tier/unknown-ending')).toEqual([]);
    // A kill always hit something, and of each agent at most the one call that it was waiting for.
    const lost = codes.get('tier/unknown-ending') ?? 0;
    expect(lost).toBeGreaterThan(0);
    expect(lost).toBeLessThanOrEqual(ENDS.filter((signal) => signal === 'SIGKILL').length * CLIENTS);
    // Whatever else a command has finished was answered.
    expect(codes.get('ok')).toBeGreaterThanOrEqual(linesOf('done').length - lost);
  });

  test('never ran one twice', () => {
    const [begun, done] = [linesOf('begun'), linesOf('done')];
    expect(begun).toHaveLength(new Set(begun).size);
    expect(done).toHaveLength(new Set(done).size);
    const well = answers.filter(({ code }) => code === 'ok').map(({ name }) => name);
    expect(well.filter((name) => !done.includes(name))).toEqual([]);
    expect(begun.filter((name) => !answers.some((answer) => answer.name === name))).toEqual([]);
  });

  test('has one intent and one ending of each in a journal that verifies', async () => {
    const records = await openRecords({ stateDir, env: readEnvironment({}), version: '0.0.0' });
    const rows = recordsOf(records);
    const left = reservations(records.store);
    records.release();
    const ofKind = (kind: string) => rows.filter((row) => row.kind === kind).map(({ call }) => call);
    const callIds = answers.map(({ callId }) => callId).sort();
    expect(new Set(callIds).size).toBe(answers.length);
    expect(ofKind('intent').sort()).toEqual(callIds);
    expect(ofKind('ended').sort()).toEqual(callIds);
    for (const { callId, code } of answers) {
      const row = rows.find(({ call, kind }) => call === callId && kind === 'ended');
      expect(bodyOf(row).code).toBe(code);
    }
    expect(left).toEqual([]);
    const verified = await palisade(['journal', 'verify', '--state', stateDir]);
    expect([verified.status, verified.err]).toEqual([0, '']);
  });
});
