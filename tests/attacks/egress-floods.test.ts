import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getFrom, PATIENT, runScript, tryInside } from '../fixtures/egress/inside.ts';
import { volume } from '../volume/volume.ts';

const HOME = '127.0.0.1';
const MIB = 1024 * 1024;
const MOST_BYTES = 100_000;
const PIECE = randomBytes(64 * 1024);

/** Answers without an end, as long as somebody listens. */
const pour: RequestListener = ({ url }, response) => {
  if (url !== '/endless') return void response.end('short\n');
  const fill = () => {
    while (!response.destroyed && response.write(PIECE));
  };
  response.on('drain', fill);
  fill();
};

async function openWorld(config = '') {
  const server = await startServer(pour);
  const { port } = server;
  const world = await openEgressWorld({
    entries: [`ok.test:${port}`, `${HOME}:${port}`],
    names: { 'ok.test': [HOME] },
    config,
  });
  return { world, server, port, url: `http://ok.test:${port}` };
}

describe('a run that uses up what it may send and receive', () => {
  test.each(['c', 'b'])(
    'is cut in tier %s where its bytes end, however often it tries and by whatever way',
    async (tier) => {
      const { world, server, port, url } = await openWorld(`egress_bytes = ${MOST_BYTES}`);
      const ways = [
        `curl -s -x $HTTP_PROXY ${url}/endless`,
        `curl -s -p -x $HTTP_PROXY ${url}/endless`,
        `curl -s --noproxy '*' http://127.0.0.1:${port}/endless`,
      ];
      const script = [
        `curl -s -x $HTTP_PROXY ${url}/short`,
        ...ways.map((way) => `for i in 1 2 3; do ${way}; done | wc -c`),
      ];
      const { output, egress, usage, execution } = await runScript(world, script, { tier });
      const [first, ...received] = (output?.stdout ?? '').trim().split('\n');
      expect([first, received.length]).toEqual(['short', ways.length]);
      const inAll = received.reduce((sum, count) => sum + Number(count), 0);
      expect(inAll).toBeGreaterThan(PIECE.length / 2);
      expect(inAll).toBeLessThanOrEqual(MOST_BYTES);
      expect(usage.egressBytes).toBeLessThanOrEqual(MOST_BYTES);
      expect(usage.egressBytes).toBe(egress.bytesIn + egress.bytesOut);
      expect(execution?.isolation).toMatchObject({
        egressBytesIn: egress.bytesIn,
        egressBytesOut: egress.bytesOut,
      });
      expect(egress.cut).toBeGreaterThan(0);
      const cuts = egress.decisions.flatMap(({ cut }) => cut ?? []);
      expect(new Set(cuts)).toEqual(
        new Set([expect.stringContaining('used up its bytes in and out together')]),
      );
      expect(server.asked.length).toBeGreaterThan(1);
    },
  );

  test('sends no byte of a body that is known to be too long, and no more of another than it may', async () => {
    const { world, server, url } = await openWorld(`egress_bytes = ${MOST_BYTES}`);
    const { output, egress } = await runScript(world, [
      `curl -s -o /dev/null -w '%{http_code}\\n' -x $HTTP_PROXY -d small ${url}/small`,
      `head -c ${MIB} /dev/zero > large`,
      `curl -s -o /dev/null -w '%{http_code}\\n' -x $HTTP_PROXY --data-binary @large ${url}/known`,
      `curl -s -o /dev/null -w '%{http_code}\\n' -x $HTTP_PROXY -H 'Transfer-Encoding: chunked' --data-binary @large ${url}/unknown`,
    ]);
    expect(output?.stdout).toBe('200\n413\n413\n');
    expect(egress.bytesOut).toBeLessThanOrEqual(MOST_BYTES);
    expect(server.asked.map(({ url: path }) => path)).toEqual(['/small']);
  });

  test('asks for no more than it was given, and may ask for less', async () => {
    const { world, url } = await openWorld(
      `egress_bytes = ${MOST_BYTES}\n[ceilings]\negress_bytes = ${2 * MOST_BYTES}`,
    );
    const line = [`curl -s -x $HTTP_PROXY ${url}/endless | wc -c`];
    const received = async (limits: object) =>
      Number((await runScript(world, line, { limits })).output?.stdout);
    expect(await received({ egress_bytes: 20_000 })).toBeLessThanOrEqual(20_000);
    expect(await received({ egress_bytes: 100 * MIB })).toBeLessThanOrEqual(2 * MOST_BYTES);
    expect(await received({})).toBeGreaterThan(20_000);
  });
});

describe('a run that makes very many connections', () => {
  test('is served all in a row, with a record that has an end, and other runs do not notice', async () => {
    const { world, server, port, url } = await openWorld();
    const [denied, malformed] = [volume(1_400, 300), volume(300, 60)];
    const [unauthorized, allowed] = [volume(200, 40), volume(100, 40)];
    const flood = tryInside(world, 'floods.py', {
      'in a row': {
        denied: [{ send: connectTo('evil.test:443') }, denied],
        malformed: [{ send: 'GET / HTTP/1.1\r\n\r\n' }, malformed],
        unauthorized: [{ send: connectTo(`ok.test:${port}`).replace('<credential>', '') }, unauthorized],
        allowed: [{ send: getFrom(`${url}/short`) }, allowed],
      },
    });
    const other = await askInside(world, { page: { send: getFrom(`${url}/of-another`) } });
    const { answers, egress } = await flood;
    expect(other.answers).toEqual({ page: '200' });
    expect(answers).toEqual({
      denied: `{'403': ${denied}}`,
      malformed: `{'400': ${malformed}}`,
      unauthorized: `{'407': ${unauthorized}}`,
      allowed: `{'200': ${allowed}}`,
    });
    expect(egress).toMatchObject({
      connections: denied + malformed + unauthorized + allowed,
      denied,
      malformed,
      unauthorized,
      cut: 0,
    });
    expect(egress).toMatchObject({
      faults: 0,
      turnedAway: 0,
      more: denied + allowed - 200,
      decisions: { length: 200 },
    });
    expect(server.asked.filter(({ url: path }) => path === '/of-another')).toHaveLength(1);
    expect(world.lookedUp).not.toContain('evil.test');
  });

  test('holds at most 1,024 at once, and when it lets go it is served again; other runs do not notice', async () => {
    const { world, url } = await openWorld();
    const later = { send: getFrom(`${url}/short`) };
    const flood = tryInside(
      world,
      'floods.py',
      { 'in a row': {}, 'at once': 1_200, later },
      { limits: { wall_ms: 60_000 } },
    );
    await Promise.race([
      flood,
      expect.poll(() => existsSync(join(world.workspace, 'holding')), PATIENT).toBe(true),
    ]);
    const other = await askInside(world, { page: later });
    writeFileSync(join(world.workspace, 'go-on'), '');
    const { answers, egress } = await flood;
    expect(other.answers).toEqual({ page: '200' });
    expect(answers).toEqual({ 'one more': '429', afterwards: '200' });
    expect(egress).toMatchObject({ requests: 1, faults: 0 });
    expect(egress.turnedAway).toBeGreaterThanOrEqual(1_201 - 1_024);
  });
});
