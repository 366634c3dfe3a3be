import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  allowing,
  connectHead,
  eventually,
  HELLO,
  NAME,
  openClient,
  openTunnel,
  plainHead,
  startAnswering,
  startEcho,
  startProxy,
  startTarget,
  statusOf,
  talk,
} from './world.ts';

const ANSWERS = { [NAME]: ['127.0.0.1'] };

describe('connections', () => {
  it('above the number at once are turned away, and one that ends makes room', async () => {
    const target = await startAnswering(HELLO);
    const terms = { entries: allowing(NAME, target.port), answers: ANSWERS };
    const { port, proxy } = await startProxy({ ...terms, limits: { connections: 2 } });
    const neighbour = await startProxy(terms);
    const held = [openClient(port), openClient(port)];
    await eventually(() => proxy.facts().connections === 2);
    const head = plainHead('GET', `http://${NAME}:${target.port}/`);
    expect((await talk(port, head)).text).toMatch(/^HTTP\/1\.1 429 Cannot take connection: 2 are open/);
    expect(statusOf(await talk(neighbour.port, head))).toBe(200);
    held[0]?.socket.destroy();
    expect(statusOf(await talkWhenRoom(port, head))).toBe(200);
  });

  it('above the number in all are turned away', async () => {
    const { port, proxy } = await startProxy({ limits: { connectionsInAll: 2 } });
    const statuses = [];
    for (let count = 0; count < 4; count += 1)
      statuses.push(statusOf(await talk(port, connectHead('a.test:443'))));
    expect(statuses).toEqual([403, 403, 429, 429]);
    expect(proxy.facts()).toMatchObject({ connections: 2, turnedAway: 2, denied: 2 });
  });

  it('that cannot be accepted end nothing', async () => {
    const { port, server } = await startProxy({});
    expect(() => server.emit('error', Object.assign(new Error('accept'), { code: 'ENFILE' }))).not.toThrow();
    expect(statusOf(await talk(port, connectHead('a.test:443')))).toBe(403);
  });

  it('by the thousand leave the proxy as it was', async () => {
    const target = await startEcho();
    const { port, proxy } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { connections: 100 },
    });
    const head = connectHead(`${NAME}:${target.port}`);
    for (let wave = 0; wave < 4; wave += 1) {
      const clients = Array.from({ length: 500 }, () => openClient(port));
      for (const { socket } of clients) socket.write(head);
      await Promise.all(
        clients.map(({ socket, until, ended }) => Promise.race([until('\r\n\r\n'), ended, onError(socket)])),
      );
      for (const { socket } of clients) socket.destroy();
      await Promise.all(clients.map(({ ended }) => ended));
    }
    const { connections, turnedAway, faults } = proxy.facts();
    expect({ all: connections + turnedAway, faults }).toEqual({ all: 2_000, faults: 0 });
    expect(turnedAway).toBeGreaterThan(0);
    await eventually(() => target.sockets.every(({ destroyed }) => destroyed));
    target.sockets.length = 0;
    const last = talkWhenRoom(port, `${head}alive`);
    await eventually(() => target.seen.at(-1) === 'alive');
    target.sockets[0]?.end();
    expect((await last).body).toBe('alive');
  });
});

/** Talks until it is not turned away: what has ended leaves a moment later. */
async function talkWhenRoom(port: number, head: string) {
  let answer = await talk(port, head);
  while (statusOf(answer) === 429) answer = await talk(port, head);
  return answer;
}

function onError(socket: ReturnType<typeof connect>): Promise<void> {
  return new Promise((resolve) => socket.once('error', () => resolve()));
}

describe('a limit that is none', () => {
  it.each([Number.NaN, -1, 0])('such as %s lets nothing through', async (requests) => {
    const { port } = await startProxy({ limits: { requests } });
    expect(statusOf(await talk(port, connectHead('a.test:443')))).toBe(429);
  });

  it('such as an endless time is the longest there is', async () => {
    const ms = Number.POSITIVE_INFINITY;
    const target = await startAnswering(HELLO);
    const { port } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { headMs: ms, connectMs: ms, idleMs: ms, wholeMs: ms },
    });
    expect(statusOf(await talk(port, plainHead('GET', `http://${NAME}:${target.port}/`)))).toBe(200);
  });
});

describe('requests', () => {
  it('above the number in all are turned away, denied ones included', async () => {
    const target = await startAnswering(HELLO);
    const { port, proxy } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { requests: 2 },
    });
    const url = `http://${NAME}:${target.port}/`;
    const heads = [plainHead('GET', url), connectHead('denied.test:443'), plainHead('GET', url)];
    const statuses = [];
    for (const head of heads) statuses.push(statusOf(await talk(port, head)));
    expect(statuses).toEqual([200, 403, 429]);
    expect(proxy.facts().decisions).toHaveLength(2);
  });
});

describe('bytes out', () => {
  it('in chunks are refused when they pass the limit', async () => {
    const target = await startTarget(() => {});
    const { port } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { bytes: 1_000 },
    });
    const head = plainHead('POST', `http://${NAME}:${target.port}/`, 'Transfer-Encoding: chunked');
    const { text } = await talk(port, head, `400\r\n${'a'.repeat(1_024)}\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(target.seen.join('').length).toBeLessThan(1_000);
  });
});

describe('bytes in', () => {
  it('stop at the limit', async () => {
    const target = await startTarget((socket) => socket.write('a'.repeat(1_000_000)));
    const { port, proxy } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { bytes: 300_000 },
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    const { body } = await client.ended;
    expect(body.length).toBeLessThanOrEqual(300_000);
    expect(proxy.facts().bytesIn).toBeLessThanOrEqual(300_000);
    expect(proxy.facts().decisions[0]?.cut).toContain('used up its bytes in and out together');
  });
});

describe('bytes both ways', () => {
  const start = async (bytes: number) => {
    const target = await startEcho();
    const terms = { entries: allowing(NAME, target.port), answers: ANSWERS };
    return { target, ...(await startProxy({ ...terms, limits: { bytes } })) };
  };

  it('stop at the limit for both together, and afterwards nothing more leaves', async () => {
    const { port, proxy, target } = await start(1_000);
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.write('a'.repeat(500));
    await client.until('a'.repeat(500));
    client.socket.write('b');
    expect((await client.ended).end).toBe('ECONNRESET');
    expect(target.seen).toEqual(['a'.repeat(500)]);
    expect(proxy.facts()).toMatchObject({ bytesIn: 500, bytesOut: 500, cut: 1 });
    expect(proxy.facts().decisions[0]?.cut).toBe(
      'Cannot go on: the run has used up its bytes in and out together, expected at most 1000',
    );
    expect(statusOf(await talk(port, connectHead(`${NAME}:${target.port}`)))).toBe(429);
  });

  it('are those of all connections of the run', async () => {
    const { port, target } = await start(1_000);
    const first = await openTunnel(port, `${NAME}:${target.port}`);
    first.socket.end('a'.repeat(300));
    expect((await first.ended).body).toBe('a'.repeat(300));
    const second = await openTunnel(port, `${NAME}:${target.port}`);
    second.socket.write('b'.repeat(401));
    expect((await second.ended).end).toBe('ECONNRESET');
    expect(target.seen.join('')).toBe('a'.repeat(300));
  });

  it('that a request announces above the limit are refused before it leaves', async () => {
    const { port, target } = await start(1_000);
    const url = `http://${NAME}:${target.port}/`;
    expect(statusOf(await talk(port, plainHead('POST', url, 'Content-Length: 1001'), 'a'))).toBe(413);
    expect(target.sockets).toEqual([]);
    await talk(port, plainHead('POST', url, 'Content-Length: 1'), 'a');
    expect(target.seen[0]).toMatch(/^POST /);
  });

  it.each([Number.NaN, -1, 0])('of %s are none', async (bytes) => {
    const { port, target } = await start(bytes);
    expect(statusOf(await talk(port, connectHead(`${NAME}:${target.port}`)))).toBe(429);
  });
});

describe('time', () => {
  it('for a head is over for a client that sends a byte now and then', async () => {
    const { port } = await startProxy({ limits: { headMs: 200 } });
    const client = openClient(port);
    const drip = setInterval(() => client.socket.write('A'), 20);
    const { text } = await client.ended;
    clearInterval(drip);
    expect(text).toMatch(/^HTTP\/1\.1 408 Cannot use request: it is not complete/);
  });

  it.each([
    ['a tunnel in which nothing moves', (): void => {}],
    ['a tunnel that is half open', (end: () => void) => end()],
  ])('without a byte is over for %s', async (_what, act) => {
    const target = await startTarget(() => {});
    const { port, proxy } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { idleMs: 150 },
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    act(() => client.socket.end());
    await client.ended;
    // Who heard an end learns that nobody listens any more when it speaks.
    await eventually(() => target.sockets[0]?.write('x') === false || target.sockets[0]?.destroyed === true);
    expect(proxy.facts().decisions[0]?.cut).toContain(
      'next byte did not come in time, expected it within 150 ms',
    );
  });

  it('without a byte is over for a target that does not answer', async () => {
    const target = await startTarget(() => {});
    const { port } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { idleMs: 150 },
    });
    const { text } = await talk(port, plainHead('GET', `http://${NAME}:${target.port}/`));
    expect(text).toMatch(/^HTTP\/1\.1 504 /);
  });

  it('in all is over even while bytes move', async () => {
    const target = await startEcho();
    const { port, proxy } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { wholeMs: 2_000 },
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    const drip = setInterval(() => client.socket.write('a'), 20);
    await client.ended;
    clearInterval(drip);
    expect(proxy.facts().decisions[0]?.cut).toContain('expected it within 2000 ms');
    expect(proxy.facts().bytesIn).toBeGreaterThan(0);
  });

  it('to connect is over for a target that never takes the connection', async () => {
    const full = await startFull();
    const { port } = await startProxy({ entries: [`127.0.0.1:${full}`], limits: { connectMs: 200 } });
    const { text } = await talk(port, connectHead(`127.0.0.1:${full}`));
    expect(text).toMatch(
      /^HTTP\/1\.1 504 Cannot connect to target: 127\.0\.0\.1 did not answer within 200 ms/,
    );
  });
});

/** The port of a listener that accepts nobody and whose queue is full. */
async function startFull(): Promise<number> {
  const script = [
    'import socket, sys',
    's = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(0)',
    'print(s.getsockname()[1], flush=True)',
    'sys.stdin.read()',
  ].join('\n');
  const child = spawn('python3', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.stdin.end());
  const port = await new Promise<number>((resolve) =>
    child.stdout.once('data', (text) => resolve(Number(text))),
  );
  for (let count = 0; count < 3; count += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    if (count === 0) await new Promise((resolve) => socket.once('connect', resolve));
  }
  return port;
}
