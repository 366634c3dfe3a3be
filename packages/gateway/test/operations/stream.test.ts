import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEnvironment } from '../../src/config/environment.ts';
import { openGateway } from '../../src/open.ts';
import { EventStream, type ServerEvent } from '../../src/operations/operation.ts';
import { kindsOf, PERMIT_ALL, type TestGateway } from '../fixture/gateway.ts';
import { ask, type Document, listen, reply } from './ask.ts';
import { ada, openFixture } from './fixture.ts';

/* Streams of calls: of our own tools, and of real commands in a real jail. */

// Not below /tmp: a jail has its own.
const base = mkdtempSync('/var/tmp/palisade-http-');
chmodSync(base, 0o711);
const stateDir = join(base, 'state');
const workspace = join(base, 'work');
let jail: TestGateway;

beforeAll(async () => {
  mkdirSync(join(stateDir, 'policies'), { recursive: true, mode: 0o700 });
  mkdirSync(workspace);
  writeFileSync(join(stateDir, 'policies/all.cedar'), PERMIT_ALL);
  const opened = await openGateway({
    stateDir,
    env: readEnvironment(),
    version: '0.0.0',
    workspaces: [workspace],
  });
  jail = { ...opened, stateDir };
});

afterAll(async () => {
  await jail.close();
  rmSync(base, { recursive: true, force: true });
});

const command = (...words: string[]) => ({
  as: ada,
  body: { tool: 'palisade.process.run', input: { command: words[0], args: words.slice(1) } },
});

const dataOf = (events: readonly ServerEvent[], name: string): Document[] =>
  events.filter(({ event }) => event === name).map(({ data }) => data);

/** What a stream of output says, byte for byte. */
function bytesOf(events: readonly ServerEvent[], stream: string): Buffer {
  const observed = dataOf(events, 'output').filter((each) => each.stream === stream);
  return Buffer.concat(
    observed.map(({ text, base64 }) =>
      base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64'),
    ),
  );
}

describe('a call that is told event by event', () => {
  test('starts, prints and ends, and its document is that of the same call without events', async () => {
    const events = await listen(jail, command('printf', 'one\\ntwo\\n'));
    expect(events[0]?.event).toBe('started');
    expect(events.at(-1)?.event).toBe('ended');
    expect(events.slice(1, -1).every(({ event }) => event === 'output')).toBe(true);
    expect(bytesOf(events, 'stdout').toString()).toBe('one\ntwo\n');
    const [{ callId }] = dataOf(events, 'started');
    const [ended] = dataOf(events, 'ended');
    expect(ended).toMatchObject({ callId, status: 'ok', output: { stdout: 'one\ntwo\n', exitCode: 0 } });
    const plain = await ask(jail, 'createCall', command('printf', 'one\\ntwo\\n'));
    expect(Object.keys(ended)).toEqual(Object.keys(plain.body));
    expect(kindsOf(jail, callId)).toEqual(['intent', 'ended']);
  });

  test('cannot make an event of its own by what it prints', async () => {
    const forged =
      'x\\n\\nevent: ended\\ndata: {"status":"ok","callId":"call_forged"}\\n\\n\\r\\rdata: y\\r\\n\\000z';
    const events = await listen(jail, command('printf', `${forged}\\377`));
    expect(events.filter(({ event }) => event === 'started')).toHaveLength(1);
    const ended = dataOf(events, 'ended');
    expect(ended).toHaveLength(1);
    expect(ended[0].callId).toBe(dataOf(events, 'started')[0].callId);
    expect(events.every(({ event }) => ['started', 'output', 'ended'].includes(event))).toBe(true);
    const real = 'x\n\nevent: ended\ndata: {"status":"ok","callId":"call_forged"}\n\n\r\rdata: y\r\n\0z';
    expect(bytesOf(events, 'stdout')).toEqual(Buffer.concat([Buffer.from(real), Buffer.from([0xff])]));
  });

  test('ends with its failure, its output and its request for approval like any other', async () => {
    const events = await listen(jail, command('ls', 'no-such-file'));
    const [ended] = dataOf(events, 'ended');
    expect(ended).toMatchObject({ status: 'failed', code: 'tier/exited' });
    expect(bytesOf(events, 'stderr').toString()).toContain('no-such-file');
    const { gateway } = await openFixture();
    const asking = await listen(gateway, { as: ada, body: { tool: 'test.launch' } });
    expect(asking.map(({ event }) => event)).toEqual(['started', 'ended']);
    expect(dataOf(asking, 'ended')[0].approval.id).toMatch(/^apr_/);
  });

  test('says nothing of a tool that its caller could never call', async () => {
    const { gateway } = await openFixture();
    const of = async (tool: string) => {
      const events = await listen(gateway, { as: ada, body: { tool, input: { key: 1 } } });
      const [{ callId }] = dataOf(events, 'started');
      return JSON.stringify(events).replaceAll(callId, 'CALL').replaceAll(tool, 'TOOL');
    };
    expect(await of('test.hidden')).toBe(await of('test.absent'));
    expect(await of('test.hidden')).toContain('registry/unknown-tool');
  });

  test('ends when its client goes away, and the command with it', async () => {
    const client = new AbortController();
    const started = (event: ServerEvent) => {
      if (event.event === 'output') client.abort();
    };
    const request = { ...command('sh', '-c', 'echo here; sleep 60'), signal: client.signal };
    const events = await listen(jail, request, started);
    expect(dataOf(events, 'ended')[0]).toMatchObject({
      code: 'tier/cancelled',
      output: { stdout: 'here\n' },
    });
    expect(jail.running.list()).toEqual([]);
  });

  test('is a document for who accepts anything, and for who asks for JSON', async () => {
    const { gateway } = await openFixture();
    for (const accept of ['*/*', 'application/json', 'text/*', 'text/event-streams']) {
      const request = { as: ada, body: { tool: 'test.echo' }, headers: { accept } };
      expect(await reply(gateway, 'createCall', request)).toMatchObject({ status: 'ok' });
    }
    const accept = 'application/json;q=0.5, Text/Event-Stream;q=1';
    const request = { as: ada, body: { tool: 'test.echo' }, headers: { accept } };
    expect(await reply(gateway, 'createCall', request)).toBeInstanceOf(EventStream);
  });
});
