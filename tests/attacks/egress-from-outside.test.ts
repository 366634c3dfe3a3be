import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { PATIENT } from '../fixtures/egress/inside.ts';
import { listenersHere } from '../fixtures/egress/listeners.ts';
import { OWN_FOUR } from '../fixtures/egress/own-addresses.ts';

const HOME = '127.0.0.1';

/** Asks whoever listens at a place of the host for the page, as a program of the run would. */
async function askFromHost(host: string, port: number, head: string): Promise<string> {
  const socket = connect({ host, port, timeout: 5_000 });
  socket.on('timeout', () => socket.destroy());
  try {
    await once(socket, 'connect');
    socket.end(head);
    const [piece] = await once(socket, 'data');
    return String(piece);
  } catch (error) {
    return String((error as { readonly code?: string }).code);
  } finally {
    socket.destroy();
  }
}

describe.each(['c', 'b'])('the proxy of a run in tier %s', (tier) => {
  test('is on no port and no path of the host while the run goes on, and answers nobody there', async () => {
    const { port, asked } = await startServer();
    const world = await openEgressWorld({
      entries: [`ok.test:${port}`, `${HOME}:${port}`],
      names: { 'ok.test': [HOME] },
    });
    const before = listenersHere();
    expect(before).toContain(`tcp ${port}`);
    const file = (name: string) => join(world.workspace, name);
    const running = world.shell(
      [
        'cat /proc/net/tcp > listening',
        `curl -s -x $HTTP_PROXY http://ok.test:${port}/from-inside > page`,
        'echo $HTTP_PROXY > proxy.tmp; mv proxy.tmp proxy',
        'until [ -e done ]; do sleep 0.05; done',
      ].join('; '),
      { tier, limits: { wall_ms: 30_000 } },
    );
    await expect.poll(() => existsSync(file('proxy')), PATIENT).toBe(true);
    const [, token = '', proxyPort = ''] =
      /run:(.+)@127.0.0.1:(\d+)/.exec(readFileSync(file('proxy'), 'utf8')) ?? [];
    const inside = readFileSync(file('listening'), 'latin1');
    expect(inside).toContain(`0100007F:${Number(proxyPort).toString(16).toUpperCase().padStart(4, '0')}`);
    expect(listenersHere()).toEqual(before);

    const credential = Buffer.from(`run:${token}`).toString('base64');
    const head = `GET http://ok.test:${port}/from-outside HTTP/1.1\r\nHost: ok.test:${port}\r\nProxy-Authorization: Basic ${credential}\r\n\r\n`;
    for (const address of [HOME, '127.0.1.1', ...OWN_FOUR])
      await askFromHost(address, Number(proxyPort), head);
    for (const address of ['127.0.1.1', ...OWN_FOUR]) await askFromHost(address, port, head);
    // The same question at a place where somebody listens is heard.
    expect(await askFromHost(HOME, port, head)).toMatch(/^HTTP\/1.1 200/);
    writeFileSync(file('done'), '');
    const { egress } = await running;
    expect(egress).toMatchObject({ connections: 1, unauthorized: 0, malformed: 0 });
    expect(asked.map(({ url }) => url)).toEqual(['/from-inside', `http://ok.test:${port}/from-outside`]);
    expect(listenersHere()).toEqual(before);
    expect(socketFilesIn(dirname(world.stateDir))).toEqual([]);
  });
});

function socketFilesIn(directory: string): readonly string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isSocket()).map(({ name }) => name);
}
