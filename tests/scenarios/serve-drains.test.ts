import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { palisade } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { scratch } from '../fixtures/cli.ts';
import { serve } from '../fixtures/serving.ts';

/* A daemon that is told to stop while it works, and commands that go through it. */

const work = scratch();
const inState = (state: string, ...words: string[]) => palisade([...words, '--state', state]);

/** One request by the local socket, as the owner. */
function ask(socketPath: string, path: string, body: object): Promise<{ status: number; text: string }> {
  const text = JSON.stringify(body);
  const headers = {
    ...{ host: 'localhost', 'palisade-as': 'user:ada', 'content-type': 'application/json' },
    'content-length': Buffer.byteLength(text),
  };
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, method: 'POST', headers, agent: false }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        answer += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text: answer }));
    });
    sent.once('error', reject).end(text);
  });
}

test('SIGTERM lets the running call end and be recorded, refuses new ones, and exits with 0', async () => {
  const state = join(scratch(), 'state');
  mkdirSync(join(state, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(state, 'policies', 'all.cedar'), '@id("all") permit(principal, action, resource);\n');
  const { socket, url, end, log } = await serve(state, work);
  const running = ask(socket, '/v1/calls', { tool: 'palisade.sleep', input: { ms: 8000 } });
  await expect
    .poll(async () => (await inState(state, 'journal', 'search', '--json')).out, { timeout: 20_000 })
    .toContain('intent');
  const ended = end('SIGTERM');
  await expect.poll(log, { timeout: 20_000 }).toContain('draining');
  const refused = await ask(socket, '/v1/calls', { tool: 'palisade.echo' });
  expect([refused.status, JSON.parse(refused.text).code]).toEqual([503, 'door/draining']);
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  const { status, text } = await running;
  expect([status, JSON.parse(text).code]).toEqual([200, 'ok']);
  expect(await ended).toBe(0);
  const { callId } = JSON.parse(text);
  expect((await inState(state, 'receipt', callId)).status).toBe(0);
  expect((await inState(state, 'journal', 'verify')).status).toBe(0);
});

test('a command says the same through a daemon as without it, and the daemon is what ran it', async () => {
  const state = join(scratch(), 'state');
  const words = ['call', 'palisade.echo', '--input', '{"message":"hi"}', '--json'];
  const alone = JSON.parse((await inState(state, ...words)).out);
  const { end, url } = await serve(state, work);
  const through = JSON.parse((await inState(state, ...words)).out);
  expect(Object.keys(through)).toEqual(Object.keys(alone));
  for (const key of ['status', 'code', 'message', 'remedy', 'output'])
    expect(through[key]).toEqual(alone[key]);
  const token = await inState(
    state,
    'token',
    'create',
    '--principal',
    'user:ada',
    '--scopes',
    'read',
    '--json',
  );
  const { token: bearer } = JSON.parse(token.out);
  const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${bearer}` } });
  expect(await metrics.text()).toContain('palisade_calls_total{door="cli",status="ok",code="ok"} 1');
  expect(await end('SIGTERM')).toBe(0);
});
