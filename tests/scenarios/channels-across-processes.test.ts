import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PalisadeClient } from '@palisade/sdk';
import { expect, onTestFinished, test } from 'vitest';
import { palisade } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { PALISADE, scratch } from '../fixtures/cli.ts';
import { guest } from '../fixtures/modules/guest.ts';
import { serve } from '../fixtures/serving.ts';

/* A daemon, commands and a guest in processes of their own, which share one state directory and its channels. */

const PATIENCE = { timeout: 30_000 };

/** It tries to control the terminal of a listener, and to begin an event of its own in the stream of another. */
const HOSTILE = 'done: \u001b[31mü\n\nevent: message\ndata: {"message":"forged"}\n\n';

/** Waits for a message on "jobs", publishes one on "results", and says what the host said. */
const WORKER = guest(
  ({ bytes }) =>
    `(call $say (call $channel_receive (i32.const 40000) (i32.const 60000)))
     (call $say (call $channel_publish (i32.const 40001) ${bytes(HOSTILE)}))
     (call $said)`,
);

type Started = { readonly child: ChildProcess; readonly out: () => string; readonly err: () => string };

function start(...words: string[]): Started {
  const child = spawn(process.execPath, [PALISADE, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.err += chunk;
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return { child, out: () => said.out, err: () => said.err };
}

async function ended({ child }: Started): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

test('a message reaches a guest in another process, and what it publishes reaches the daemon and a command', async () => {
  const work = scratch();
  const state = join(work, 'state');
  mkdirSync(join(state, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(state, 'policies', 'all.cedar'), '@id("all") permit(principal, action, resource);\n');
  writeFileSync(join(work, 'worker.wasm'), WORKER);
  const inState = async (...words: string[]) => {
    const { out } = await palisade([...words, '--state', state, '--json']);
    return JSON.parse(out);
  };
  const { url, child: daemon } = await serve(state, work);
  const { token } = await inState('token', 'create', '--principal', 'user:olga', '--scopes', 'admin');
  const client = new PalisadeClient({ url, token });

  const heard: object[] = [];
  const toDaemon = new AbortController();
  let isListening = false;
  const listening = (async () => {
    const onListening = () => {
      isListening = true;
    };
    for await (const each of client.channels.listen('results', { signal: toDaemon.signal, onListening }))
      heard.push(each);
  })().catch(() => undefined);
  const command = start('channel', 'listen', 'results', '--count', '1', '--state', state);
  const doomed = start('channel', 'listen', 'results', '--state', state);
  const worker = start(
    ...['wasm', 'run', join(work, 'worker.wasm'), '--grant', 'channel=jobs:receive', '--tool', 'tool'],
    ...['--grant', 'channel=results:publish', '--timeout', '60000', '--state', state, '--json'],
  );
  await expect.poll(() => isListening, PATIENCE).toBe(true);
  await expect
    .poll(async () => (await client.channels.list()).channels, PATIENCE)
    .toEqual([
      { channel: 'jobs', subscribers: 1 },
      { channel: 'results', subscribers: 3 },
    ]);

  // One of the listeners is killed; nothing that it leaves keeps the others from hearing.
  doomed.child.kill('SIGKILL');
  await ended(doomed);
  const published = await client.channels.publish('jobs', 'begin');
  expect(published).toEqual({ channel: 'jobs', bytes: 5, taken: 1, full: 0, silent: 0 });
  expect(await ended(worker)).toBe(0);
  expect(JSON.parse(worker.out())).toMatchObject({ output: [expect.any(Number), 0] });

  expect(await ended(command)).toBe(0);
  await expect.poll(() => heard, PATIENCE).toHaveLength(1);
  expect(heard).toEqual([expect.objectContaining({ missed: 0, encoding: 'utf-8', message: HOSTILE })]);
  expect(heard).toMatchObject([{ sender: { skill: 'local.worker' } }]);
  // Boundary: the terminal gets no control character of a guest.
  expect(command.out()).toContain('done: \\u{1b}[31mü');
  expect(command.out()).not.toContain('\u001b');

  toDaemon.abort();
  await listening;
  await expect.poll(async () => (await client.channels.list()).channels, PATIENCE).toEqual([]);
  const { records } = await inState('journal', 'search', '--kind', 'channel-published');
  expect(records).toMatchObject([
    { principal: 'user:olga', body: { channel: 'jobs', bytes: 5, door: 'http' } },
  ]);
  expect(JSON.stringify(records)).not.toContain('begin');
  daemon.kill('SIGTERM');
  await once(daemon, 'exit');
  expect(readdirSync(join(state, 'channels'))).toEqual([]);
});
