import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PALISADE, palisade, scratch } from '../fixtures/cli.ts';
import { serve } from '../fixtures/serving.ts';

/* An MCP client that is served by a daemon, which is killed: the client is told, and goes on in the same connection. */

type Message = { readonly id?: number; readonly result?: object; readonly error?: { message: string } };

/** The built `palisade mcp`, as a client starts it. */
function startClient(state: string, cwd: string) {
  const words = [PALISADE, 'mcp', '--state', state, '--workspace', cwd];
  const child = spawn(process.execPath, words, { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const lines = () => out.split('\n').filter((line) => line !== '');
  const answersTo = (id: number) =>
    lines()
      .map((line) => JSON.parse(line) as Message)
      .filter((message) => message.id === id);
  const send = (message: object) =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const answer = async (id: number) => {
    await expect.poll(() => answersTo(id).length, { timeout: 60_000 }).toBeGreaterThan(0);
    return answersTo(id)[0];
  };
  const ask = (id: number, method: string, params: object) => {
    send({ id, method, params });
    return answer(id);
  };
  const end = async () => {
    child.stdin.end();
    return (await exited)[0];
  };
  return { send, answer, ask, answersTo, end };
}

const call = (name: string, input: object) => ({ name: `palisade_${name}`, arguments: input });

test('a client whose daemon was killed hears of the call that was running, and calls again', async () => {
  const [state, work] = [join(scratch(), 'state'), scratch()];
  mkdirSync(join(state, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(state, 'policies', 'all.cedar'), '@id("all") permit(principal, action, resource);\n');
  const daemon = await serve(state, work);
  const client = startClient(state, work);
  const clientInfo = { name: 'test', version: '1' };
  await client.ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  client.send({ method: 'notifications/initialized' });
  expect(await client.ask(2, 'tools/call', call('echo', { message: 'before' }))).toMatchObject({
    result: { structuredContent: { message: 'before' } },
  });
  client.send({ id: 3, method: 'tools/call', params: call('sleep', { ms: 60_000 }) });
  const recorded = async () => (await palisade(['journal', 'search', '--json', '--state', state])).out;
  await expect.poll(recorded, { timeout: 60_000 }).toMatch(/"kind":\s*"intent"[^{}]*"palisade\.sleep"/);

  expect(await daemon.end('SIGKILL')).toBe('SIGKILL');
  expect((await client.answer(3))?.error?.message).toContain('ended before it answered');
  expect(await client.ask(4, 'tools/call', call('echo', { message: 'after' }))).toMatchObject({
    result: { structuredContent: { message: 'after' } },
  });
  expect(await client.end()).toBe(0);
  for (const id of [1, 2, 3, 4]) expect(client.answersTo(id), `answers to ${id}`).toHaveLength(1);

  expect(await recorded()).toContain('tier/unknown-ending');
  expect((await palisade(['journal', 'verify', '--state', state])).status).toBe(0);
});
