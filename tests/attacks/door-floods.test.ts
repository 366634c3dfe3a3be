import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bearer, sendBytes } from '../../packages/gateway/test/doors/http/open-door.ts';
import { eventually } from '../../packages/gateway/test/doors/mcp/raw-client.ts';
import { makeTool, PERMIT_ALL } from '../../packages/gateway/test/fixture/gateway.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { callRequest, openTestDaemon } from '../fixtures/door/daemon.ts';
import { askMcp, callMcp, modern, openSession } from '../fixtures/door/mcp.ts';
import { volume } from '../volume/volume.ts';

/* Somebody takes more than their share, or never ends what they began, so that nothing is left for others. */

const MIB = 1_048_576;
/** A thousand in a whole run. */
const CONNECTIONS = volume(1_000, 200);

async function openHouse(toml = '') {
  let running = 0;
  const hold = makeTool('test.hold', async (_, signal) => {
    running += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    running -= 1;
    throw signal.reason;
  });
  const echo = makeTool('test.echo', async (input) => input);
  const daemon = await openTestDaemon({ policies: PERMIT_ALL, tools: [hold, echo], toml });
  return {
    daemon,
    running: () => running,
    ada: await daemon.token({ principal: 'agent:ada' }),
    bob: await daemon.token({ principal: 'agent:bob' }),
  };
}

/** A connection that is held open until the test ends. */
function hold(port: number, bytes: string): Promise<{ socket: Socket; closed: Promise<string> }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes);
      resolve({ socket, closed });
    });
    let text = '';
    const closed = new Promise<string>((done) => socket.once('close', () => done(text)));
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject);
    onTestFinished(() => void socket.destroy());
  });
}

const residentMib = () => process.memoryUsage().rss / MIB;

describe('hundreds of connections that never say all they began to say', () => {
  test('cost little, are ended in their time, and leave the others served', async () => {
    const { daemon, ada } = await openHouse('[http]\nrequest_timeout_ms = 2000\nmax_connections = 2000\n');
    await daemon.call(ada, 'test.echo');
    const before = residentMib();
    const head = `POST /v1/calls HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${ada}\r\ncontent-type: application/json\r\n`;
    const begun = ['', 'POST /v1/ca', head, `${head}content-length: 100000\r\n\r\n{"tool":`];
    const held = await Promise.all(
      Array.from({ length: CONNECTIONS }, (_, i) => hold(daemon.port, begun[i % begun.length] ?? '')),
    );
    const drip = setInterval(() => {
      for (const { socket } of held) if (socket.writable) socket.write(' ');
    }, 100);
    onTestFinished(() => clearInterval(drip));
    for (let i = 0; i < 20; i++) expect((await daemon.call(ada, 'test.echo')).status).toBe(200);
    expect(residentMib() - before).toBeLessThan(200);
    const answers = await Promise.all(held.map(({ closed }) => closed));
    // Whoever had begun to ask is told why; nobody was served.
    expect(answers.filter((text) => text !== '' && !/^HTTP\/1.1 (408|400) /.test(text))).toEqual([]);
    expect((await daemon.call(ada, 'test.echo')).status).toBe(200);
  });

  test('are no more than may be, whatever is sent', async () => {
    const { daemon, ada } = await openHouse('[http]\nmax_connections = 20\nrequest_timeout_ms = 1000\n');
    const many = await Promise.allSettled(Array.from({ length: 100 }, () => hold(daemon.port, 'GET /')));
    const closed = many.map((each) =>
      each.status === 'fulfilled' ? each.value.closed : Promise.resolve(''),
    );
    await Promise.all(closed);
    expect((await daemon.call(ada, 'test.echo')).status).toBe(200);
  });
});

describe('answers that nobody takes', () => {
  /** Asks for far more than the system keeps for a connection, and reads none of it. */
  const greedy = (path: string, headers = '') =>
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}\r\n`.repeat(400);

  test('hold their connections for so long and no longer, and nobody else out', async () => {
    // Long enough that the control below comes in time on a busy machine.
    const { daemon, ada } = await openHouse('[http]\nmax_connections = 4\nrequest_timeout_ms = 5000\n');
    const held = await Promise.all(
      Array.from({ length: 4 }, () => hold(daemon.port, greedy('/openapi.json'))),
    );
    for (const { socket } of held) socket.pause();
    // The control: there is no room for anybody now.
    await expect(daemon.call(ada, 'test.echo')).rejects.toThrow();
    await eventually(() =>
      daemon.call(ada, 'test.echo').then(
        ({ status }) => status,
        () => 0,
      ),
    ).toBe(200);
  });

  test('are told from those that are long in the making, alone and behind others on one connection', async () => {
    const slow = makeTool(
      'test.slow',
      () => new Promise((resolve) => setTimeout(() => resolve({ slow: true }), 1_500)),
    );
    const daemon = await openTestDaemon({
      policies: PERMIT_ALL,
      tools: [slow],
      toml: '[http]\nrequest_timeout_ms = 300\n',
    });
    const ada = await daemon.token({ principal: 'agent:ada' });
    expect((await daemon.call(ada, 'test.slow')).json.output).toEqual({ slow: true });
    const body = JSON.stringify({ tool: 'test.slow' });
    const call = `POST /v1/calls HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${ada}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const both = await sendBytes(daemon.port, `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n${call}`);
    expect(both.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(both).toContain('"slow":true');
  });
});

describe('bodies and headers that are too large', () => {
  test('are refused without being held, in every form', async () => {
    const { daemon, ada } = await openHouse('[http]\nmax_body_bytes = 65536\n');
    const head = `host: 127.0.0.1\r\nauthorization: Bearer ${ada}\r\ncontent-type: application/json\r\n`;
    const before = residentMib();
    for (const path of ['/v1/calls', '/mcp']) {
      const observed = await sendBytes(
        daemon.port,
        `POST ${path} HTTP/1.1\r\n${head}content-length: 99999999999\r\n\r\n{`,
      );
      expect(observed).toMatch(/^HTTP\/1.1 413 /);
      const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
      const chunked = await sendBytes(
        daemon.port,
        `POST ${path} HTTP/1.1\r\n${head}transfer-encoding: chunked\r\n\r\n${chunk.repeat(20)}`,
      );
      expect(chunked).toMatch(/^HTTP\/1.1 413 /);
      const packed = await daemon.ask(path, {
        ...callRequest(ada, 'test.echo', { headers: { 'content-encoding': 'gzip' } }),
      });
      expect(packed.status).toBe(415);
    }
    for (const line of [
      `x-large: ${'x'.repeat(100_000)}`,
      Array.from({ length: 4_000 }, (_, i) => `x-${i}: 1`).join('\r\n'),
      `cookie: ${'a=b; '.repeat(20_000)}`,
    ])
      expect(
        await sendBytes(daemon.port, `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n${line}\r\n\r\n`),
      ).toMatch(/^HTTP\/1.1 431 /);
    expect(
      await sendBytes(daemon.port, `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`),
    ).toMatch(/^HTTP\/1.1 431 /);
    const nested = `{"tool":"test.echo","input":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    expect((await daemon.ask('/v1/calls', { ...callRequest(ada, 'test.echo'), body: nested })).status).toBe(
      400,
    );
    expect(residentMib() - before).toBeLessThan(200);
    expect((await daemon.call(ada, 'test.echo')).status).toBe(200);
  });
});

describe('the share of a credential', () => {
  test('in requests is counted however many connections they come by, through every door', async () => {
    const { daemon, ada, bob } = await openHouse('[http]\nrate_per_minute = 30\n');
    const ways = [
      () => daemon.call(ada, 'test.echo'),
      () => daemon.ask('/v1/whoami', { headers: bearer(ada) }),
      () => daemon.ask('/mcp', modern(ada, 'tools/list')),
      () => daemon.ask('/v1/nothing-of-the-kind', { headers: bearer(ada) }),
      () => daemon.ask('/v1/keys/rotate', { method: 'POST', headers: { authorization: `bearer ${ada}` } }),
    ];
    const begunAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => ways[i % ways.length]?.()));
    // Half a request comes back with each second.
    const regained = Math.ceil((performance.now() - begunAt) / 2_000);
    const passed = answers.filter((answer) => answer?.status !== 429 && answer?.status !== 404);
    expect(passed.length).toBeLessThanOrEqual(30 + regained);
    expect(passed.length).toBeGreaterThan(0);
    const limited = answers.find((answer) => answer?.status === 429);
    expect(Number(limited?.headers['retry-after'])).toBeGreaterThan(0);
    expect((await daemon.call(bob, 'test.echo')).status).toBe(200);
  });

  test('in calls that run at once is not passed by going away from those that go on', async () => {
    const place = makeDirectories('');
    onTestFinished(() => rmSync(dirname(place.stateDir), { recursive: true, force: true }));
    const daemon = await openTestDaemon({ place, toml: '[http]\ncalls_at_once = 2\n' });
    const ada = await daemon.token({ principal: 'agent:ada' });
    const bob = await daemon.token({ principal: 'agent:bob' });
    const input = { command: 'sh', args: ['-c', 'while :; do echo still here; sleep 0.02; done'] };
    const statuses: (number | 'left')[] = [];
    for (let i = 0; i < 6; i++) {
      const leaving = new AbortController();
      const headers = { accept: 'text/event-stream', 'idempotency-key': `k${i}` };
      const request = callRequest(ada, 'palisade.process.run', { input, headers, signal: leaving.signal });
      const requested = daemon.ask('/v1/calls', request).then(
        ({ status }) => status,
        () => 'left' as const,
      );
      // The first two begin and are left; then they print on, with no one to read it.
      if (i < 2) await eventually(() => daemon.gateway.running.size).toBe(i + 1);
      else await Promise.race([requested, sleep(20_000)]);
      leaving.abort();
      statuses.push(await requested);
    }
    expect(statuses).toEqual(['left', 'left', 429, 429, 429, 429]);
    expect(daemon.gateway.running.size).toBe(2);
    expect((await daemon.call(bob, 'palisade.echo')).status).toBe(200);
    for (const { callId } of daemon.gateway.running.list()) daemon.gateway.running.cancel(callId);
    await eventually(async () => (await daemon.call(ada, 'palisade.echo')).status).toBe(200);
  });

  test('in calls over MCP is counted over sessions and requests together', async () => {
    const { daemon, running, ada, bob } = await openHouse('[http]\ncalls_at_once = 3\n');
    const params = { name: 'test.hold', arguments: {} };
    const sessions = await Promise.all([openSession(daemon, ada), openSession(daemon, ada)]);
    const sent = [
      ...Array.from({ length: 4 }, () => askMcp(daemon, modern(ada, 'tools/call', params))),
      ...sessions.flatMap(({ request }) =>
        [1, 2, 3, 4].map((id) => askMcp(daemon, request('tools/call', params, { id }))),
      ),
    ];
    const refused: unknown[] = [];
    const answered = sent.map(async (each) =>
      refused.push((await each).message.result?.structuredContent?.code),
    );
    await eventually(() => refused.length).toBe(9);
    expect(new Set(refused)).toEqual(new Set(['door/rate-limited']));
    await eventually(running).toBe(3);
    expect((await callMcp(daemon, bob, 'test.echo')).message.result.isError).toBeUndefined();
    for (const { callId } of daemon.gateway.running.list()) daemon.gateway.running.cancel(callId);
    await Promise.all(answered);
  });

  test('in streams of changes has an end', async () => {
    const { daemon, ada } = await openHouse('[http]\nmax_connections = 500\n');
    const { headers = {}, body = '' } = modern(ada, 'subscriptions/listen', {
      notifications: { toolsListChanged: true },
    });
    const lines = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\r\n');
    const request = `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const held = await Promise.all(Array.from({ length: 100 }, () => hold(daemon.port, request)));
    const observed: string[] = [];
    for (const { socket } of held) socket.on('data', (chunk: string) => observed.push(chunk));
    const statuses = () =>
      observed.filter((text) => text.startsWith('HTTP/1.1 ')).map((text) => text.slice(9, 12));
    await eventually(() => statuses().length).toBe(100);
    expect(statuses().filter((status) => status === '200').length).toBeLessThanOrEqual(32);
    expect(statuses().filter((status) => status === '200').length).toBeGreaterThan(0);
  });
});
