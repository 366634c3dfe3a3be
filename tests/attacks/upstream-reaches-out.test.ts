import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import { type Directories, makeDirectories, openUpstream } from '../fixtures/upstreams/index.ts';

const SECRET = 'a secret of the host';

/** The same server without a sandbox: what it is asked, and what it answers. */
async function askOutside({ workspace }: Directories, name: string, input: Json): Promise<string> {
  const server = spawn(process.execPath, ['server.mjs'], {
    cwd: workspace,
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: server.stdout });
  server.stdin.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } })}\n`,
  );
  const [line] = (await once(lines, 'line')) as [string];
  server.stdin.end();
  await once(server, 'exit');
  return JSON.parse(line).result.content[0].text;
}

describe('an upstream server in tier C', () => {
  const listener = createServer((socket) => socket.end());
  let port = 0;
  beforeAll(async () => {
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    port = (listener.address() as { port: number }).port;
  });
  afterAll(() => {
    listener.close();
  });

  test('reads no file of the host outside of its workspace', async () => {
    const place = makeDirectories();
    const beside = join(place.base, 'beside');
    mkdirSync(beside, { mode: 0o755 });
    const file = join(beside, 'secret');
    writeFileSync(file, SECRET);
    chmodSync(file, 0o644);
    writeFileSync(join(place.workspace, 'own'), 'its own');
    const up = await openUpstream({ place });
    expect((await up.call('files.reads', { path: 'own' })).text).toBe('its own');
    expect(await up.call('files.reads', { path: file })).toMatchObject({
      code: 'tier/tool-error',
      text: 'ENOENT',
    });
    expect((await up.call('files.reads', { path: join(place.stateDir, 'palisade.db') })).text).toBe('ENOENT');
    expect(await askOutside(place, 'reads', { path: file })).toBe(SECRET);
  });

  test('reaches nothing on the network', async () => {
    const up = await openUpstream();
    expect(await up.call('files.dials', { port })).toMatchObject({
      code: 'tier/tool-error',
      text: 'ECONNREFUSED',
    });
    expect(await askOutside(up, 'dials', { port })).toBe('connected');
  });

  test('reaches the hosts of its own list and no others, whatever commands may reach', async () => {
    const site = createHttpServer((_, response) => response.end('served'));
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    onTestFinished(() => void site.close());
    const { port: allowed } = site.address() as { port: number };
    const toml = `[process]\negress_hosts = ["127.0.0.1:${port}"]\n`;
    const up = await openUpstream({ rule: { allowHosts: [`127.0.0.1:${allowed}`] }, toml });
    const fetched = (at: number) => up.call('files.fetches', { message: `http://127.0.0.1:${at}/` });
    expect((await fetched(allowed)).text).toBe('200 served');
    expect((await fetched(port)).text).toMatch(/^403 /);
  });

  test('has the variables that the operator named, and none of the gateway', async () => {
    process.env.PALISADE_TEST_SECRET = SECRET;
    const up = await openUpstream({ rule: { env: ['FLAVOUR=mint'] } });
    const { text } = await up.call('files.environment');
    delete process.env.PALISADE_TEST_SECRET;
    expect(JSON.parse(text)).toMatchObject({ FLAVOUR: 'mint' });
    expect(text).not.toContain(SECRET);
  });

  test('is not there any more when its gateway is closed', async () => {
    const up = await openUpstream({ rule: { tier: 'b' } });
    const hanging = up.call('files.hangs', {}, { timeoutMs: 60_000 });
    await up.call('files.pid');
    await up.gateway.upstreams.close();
    expect((await hanging).code).toBe('tier/upstream-failed');
    expect(up.gateway.journal.openCalls(up.gateway.store)).toEqual([]);
    expect(up.gateway.running.list()).toEqual([]);
  });
});
