import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { Edge } from '../../../src/doors/cli/verb.ts';
import { openGateway, openRecords, systemClock, systemRandom } from '../../../src/open.ts';
import { bodyOf, PERMIT_ALL, recordsOf } from '../../fixture/gateway.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { runInside } from '../cli/fake-edge.ts';
import { eventually, type Message } from './raw-client.ts';

/** `palisade mcp` as a client starts it, on streams of the test. */
function start(words: readonly string[], parts: Partial<Edge> = {}) {
  const stateDir = tempDir();
  mkdirSync(join(stateDir, 'policies'));
  writeFileSync(join(stateDir, 'policies', 'test.cedar'), PERMIT_ALL);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const lines: string[] = [];
  let text = '';
  stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const parts_ = text.split('\n');
    text = parts_.pop() ?? '';
    lines.push(...parts_);
  });
  const ended = runInside([...words, '--state', stateDir], {
    ...{ clock: systemClock, random: systemRandom, stdin, stdout, openGateway },
    ...parts,
  });
  const send = (message: Message) => stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const answer = (id: number) =>
    eventually(() => lines.map((line) => JSON.parse(line)).find((each) => each.id === id)).toBeDefined();
  const answerOf = (id: number) => lines.map((line) => JSON.parse(line)).find((each) => each.id === id);
  return { stateDir, stdin, ended, lines, send, answer, answerOf };
}

const HELLO = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'root', version: '1' } },
};
const call = (id: number, name: string, arguments_ = {}) => ({
  id,
  method: 'tools/call',
  params: { name, arguments: arguments_ },
});

async function recordsIn(stateDir: string) {
  const records = await openRecords({ stateDir, env: readEnvironment({}), version: '0.0.0' });
  try {
    return recordsOf(records);
  } finally {
    await records.close();
  }
}

describe('palisade mcp', () => {
  it('serves until the input ends; then what runs is cancelled and recorded, and nothing but messages was written', async () => {
    const client = start(['mcp']);
    client.send(HELLO);
    client.send({ method: 'notifications/initialized' });
    client.send(call(2, 'palisade.echo', { message: 'hi' }));
    await client.answer(2);
    expect(client.answerOf(2).result.structuredContent).toEqual({ message: 'hi' });
    client.send(call(3, 'palisade.sleep', { ms: 600_000 }));
    client.send({ id: 4, method: 'ping' });
    await client.answer(4);
    client.stdin.end();
    expect((await client.ended).status).toBe(0);
    for (const line of client.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    const rows = await recordsIn(client.stateDir);
    const endings = rows.filter(({ kind }) => kind === 'ended').map((row) => bodyOf(row).code);
    expect(endings).toEqual(['ok', 'tier/cancelled']);
    // Not by the name that the client gives itself.
    const callers = rows.filter(({ kind }) => kind === 'intent').map(({ principal }) => principal);
    expect(callers).toEqual(['agent:mcp', 'agent:mcp']);
  });

  it('serves as whom it is told to, and ends on a signal', async () => {
    const stop = new AbortController();
    const client = start(['mcp', '--as', 'agent:claude-code'], { signal: stop.signal });
    client.send(HELLO);
    client.send(call(2, 'palisade.echo'));
    await client.answer(2);
    stop.abort();
    expect((await client.ended).status).toBe(0);
    const [intent] = (await recordsIn(client.stateDir)).filter(({ kind }) => kind === 'intent');
    expect(intent?.principal).toBe('agent:claude-code');
  });

  it('refuses to serve as nobody, and says so on standard error alone', async () => {
    const client = start(['mcp', '--as', 'root']);
    const { status, err } = await client.ended;
    expect(status).toBe(64);
    expect(err).toContain('Cannot act as "root"');
    expect(client.lines).toEqual([]);
  });
});
