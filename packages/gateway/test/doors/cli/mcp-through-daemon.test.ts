import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { Edge } from '../../../src/doors/cli/verb.ts';
import { openRecords } from '../../../src/open.ts';
import { PERMIT_ALL } from '../../fixture/gateway.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { openSetup } from './daemon-setup.ts';
import type { Ran } from './fake-edge.ts';

/** `palisade mcp` as a client starts it; what it answers, by the id of the request. */
function openClient(
  run: (words: readonly string[], parts: Partial<Edge>) => Promise<Ran>,
  words: readonly string[],
) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const answers = new Map<number, Record<string, unknown>>();
  let [text, questions] = ['', 0];
  stdout.on('data', (chunk: Buffer) => {
    const lines = (text + chunk.toString()).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.method === 'elicitation/create') questions += 1;
      else if (message.id !== undefined) answers.set(message.id, message.result ?? message.error);
    }
  });
  const ask = async (id: number, method: string, params: object) => {
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    await expect.poll(() => answers.get(id), { timeout: 20_000 }).toBeDefined();
    return answers.get(id);
  };
  const send = (id: number, method: string, params: object) =>
    void stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  return { stdin, ask, send, questions: () => questions, ended: run(['mcp', ...words], { stdin, stdout }) };
}

const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

test('an MCP client is served by the daemon as it is without it', async () => {
  const { run, opened } = await openSetup();
  const seen = [];
  for (const words of [
    ['--as', 'agent:bob'],
    ['--as', 'agent:bob', '--embedded'],
  ]) {
    const client = openClient(run, words);
    const hello = await client.ask(1, 'initialize', HELLO);
    const listed = await client.ask(2, 'tools/list', {});
    const called = await client.ask(3, 'tools/call', { name: 'palisade_echo', arguments: { message: 'hi' } });
    client.stdin.end();
    const { status, err } = await client.ended;
    const { content, structuredContent } = called ?? {};
    seen.push({ hello, listed, content, structuredContent, status, err });
  }
  expect(seen[0]).toEqual(seen[1]);
  expect(seen[0]).toMatchObject({ structuredContent: { message: 'hi' }, status: 0, err: '' });
  expect(opened.times).toBe(1);
  const { out } = await run(['journal', 'search', '--kind', 'ended', '--json', '--tool', 'palisade.echo'], {
    openRecords: (options) => openRecords(options),
  });
  const { records } = JSON.parse(out) as { records: { principal: string }[] };
  expect(records.map(({ principal }) => principal)).toEqual(['agent:bob', 'agent:bob']);
});

test('the calls of an MCP client are cancelled and recorded by the daemon when its input ends', async () => {
  const { run, countRunning } = await openSetup();
  const client = openClient(run, []);
  await client.ask(1, 'initialize', HELLO);
  client.send(2, 'tools/call', { name: 'palisade_sleep', arguments: { ms: 60_000 } });
  await expect.poll(countRunning, { timeout: 20_000 }).toBe(1);
  client.stdin.end();
  expect((await client.ended).status).toBe(0);
  expect(countRunning()).toBe(0);
});

test('an MCP client whose daemon ends goes on with its own process', async () => {
  const { run, close, opened } = await openSetup();
  const client = openClient(run, []);
  await client.ask(1, 'initialize', HELLO);
  await client.ask(2, 'tools/list', {});
  expect(opened.times).toBe(0);
  await close();
  const called = await client.ask(3, 'tools/call', { name: 'palisade_echo', arguments: { message: 'hi' } });
  expect(called).toMatchObject({ structuredContent: { message: 'hi' } });
  client.stdin.end();
  expect(await client.ended).toMatchObject({ status: 0, err: '' });
  expect(opened.times).toBe(1);
});

test('an MCP client whose daemon ends while a person is asked is told so, with what to do', async () => {
  const ask = `@id("ask") forbid (principal, action == Action::"call", resource == Tool::"palisade.sleep")`;
  const policies = `${PERMIT_ALL}\n${ask} unless { context.approved };\n`;
  const { run, close } = await openSetup({ policies });
  const client = openClient(run, []);
  await client.ask(1, 'initialize', { ...HELLO, capabilities: { elicitation: {} } });
  client.send(2, 'tools/call', { name: 'palisade_sleep', arguments: { ms: 1 } });
  await expect.poll(client.questions, { timeout: 20_000 }).toBe(1);
  await close();
  const { status, err } = await client.ended;
  expect(status).not.toBe(0);
  expect(err).toContain('Start the client again');
});

test.each<[string, readonly string[], Partial<Edge>]>([
  ['was started in another directory', [], { cwd: '/usr' }],
  ['is granted another directory', ['--workspace', 'ANOTHER'], {}],
  ['is granted a file to read', ['--read-only', '/usr/share'], {}],
])('an MCP client that %s is served by its own process', async (_, words, parts) => {
  const { run, opened } = await openSetup();
  const another = tempDir();
  const own = words.map((word) => word.replace('ANOTHER', another));
  const client = openClient((argv, more) => run(argv, { ...more, ...parts }), own);
  await client.ask(1, 'initialize', HELLO);
  await client.ask(2, 'tools/list', {});
  client.stdin.end();
  expect((await client.ended).status).toBe(0);
  expect(opened.times).toBe(1);
});
