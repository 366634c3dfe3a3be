import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { palisade } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { scratch } from '../fixtures/cli.ts';
import { serve } from '../fixtures/serving.ts';

/* The life of a daemon: one per state directory, told to stop, killed, and started again. */

const work = scratch();
const inState = (state: string, ...words: string[]) => palisade([...words, '--state', state]);

test('a daemon serves its state directory alone, and a second one is told what to do', async () => {
  const state = join(scratch(), 'state');
  const { url, pid, socket, end } = await serve(state, work);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(join(state, 'daemon.json'), 'utf8'))).toMatchObject({ pid, url });
  const second = await inState(state, 'serve', '--listen', '127.0.0.1:0', '--json');
  expect(second.status).toBe(64);
  const { code, message, remedy } = JSON.parse(second.out);
  expect([code, remedy]).toEqual(['door/already-serving', expect.stringContaining(`kill ${pid}`)]);
  expect(message).toContain(url);
  expect(await end('SIGTERM')).toBe(0);
  for (const left of ['daemon.json', 'palisade.sock']) expect(existsSync(join(state, left))).toBe(false);
});

test('a port that is taken is told with another way', async () => {
  const { url } = await serve(join(scratch(), 'state'), work);
  const other = await inState(join(scratch(), 'state'), 'serve', '--listen', new URL(url).host, '--json');
  expect(other.status).toBe(64);
  expect(JSON.parse(other.out)).toMatchObject({ message: expect.stringContaining('another program does') });
});

test('a daemon that was killed leaves nothing that keeps the next one from serving', async () => {
  const state = join(scratch(), 'state');
  mkdirSync(join(state, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(state, 'policies', 'all.cedar'), '@id("all") permit(principal, action, resource);\n');
  const first = await serve(state, work);
  const running = inState(state, 'call', 'palisade.sleep', '--input', '{"ms":25000}', '--json');
  await expect
    .poll(async () => (await inState(state, 'journal', 'search', '--json')).out, { timeout: 20_000 })
    .toContain('intent');
  expect(await first.end('SIGKILL')).toBe('SIGKILL');
  const { out, status } = await running;
  expect(JSON.parse(out)).toMatchObject({ code: 'tier/unknown-ending' });
  expect(status).toBe(1);
  expect(existsSync(join(state, 'palisade.sock'))).toBe(true);
  const next = await serve(state, work);
  expect((await fetch(`${next.url}/healthz`)).status).toBe(200);
  const records = (await inState(state, 'journal', 'search', '--json')).out;
  expect(records).toContain('tier/unknown-ending');
  expect(await next.end('SIGINT')).toBe(0);
  expect((await inState(state, 'journal', 'verify')).status).toBe(0);
});
