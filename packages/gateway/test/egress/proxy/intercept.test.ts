import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { formatHost } from '../../../src/egress/authority.ts';
import { identityOf, RUN, speakTls, startOpened, startSecure, TARGETS } from './tls-world.ts';
import {
  connectHead,
  eventually,
  NAME,
  openClient,
  openTunnel,
  plainHead,
  startProxy,
  statusOf,
  talk,
} from './world.ts';

describe('an opened tunnel', () => {
  it('passes the request inside on over TLS, and its answer back', async () => {
    const { ask, target, authority, decisions, proxy } = await startOpened();
    const { text, end } = await ask('GET /v1/a?b', 'X-A: b', 'Connection: keep-alive');
    expect({ text, end }).toEqual({
      text: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello',
      end: 'end',
    });
    expect(target.seen).toEqual([
      `GET /v1/a?b HTTP/1.1\r\nHost: ${authority}\r\nX-A: b\r\nConnection: close\r\n\r\n`,
    ]);
    expect(target.sockets[0]?.servername).toBe(NAME);
    expect(decisions()).toMatchObject([
      {
        ...{ host: NAME, port: target.port, address: '127.0.0.1', method: 'GET', verdict: 'allow' },
        ...{ rule: `GET https://${NAME}:${target.port}/v1/`, intercepted: true, secrets: [], cut: null },
      },
    ]);
    expect(proxy.facts()).toMatchObject({ requests: 1, connections: 1, denied: 0, cut: 0, faults: 0 });
  });

  it('is counted by what is said inside', async () => {
    const { ask, target, proxy } = await startOpened();
    await ask('GET /v1/');
    const [sent = ''] = target.seen;
    const received = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
    const counts = { bytesOut: sent.length, bytesIn: received.length };
    expect(proxy.facts()).toMatchObject({ ...counts, decisions: [counts] });
  });

  it('is not needed by an entry without a path, and is no other then', async () => {
    const { ask } = await startOpened({ entries: [`${NAME}:PORT`] });
    expect(statusOf(await ask('DELETE /any'))).toBe(200);
  });

  it('carries megabytes both ways without a change', async () => {
    const data = randomBytes(3 * 1024 * 1024);
    const { enter, authority } = await startOpened({
      entries: [`https://${NAME}:PORT/`],
      serve: (socket) => {
        const parts: Buffer[] = [];
        socket.on('data', (part) => {
          parts.push(part);
          const whole = Buffer.concat(parts);
          const at = whole.indexOf('\r\n\r\n') + 4;
          if (at < 4 || whole.length - at < data.length) return;
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${data.length}\r\n\r\n`);
          socket.end(whole.subarray(at));
        });
      },
    });
    const client = await enter();
    client.socket.write(`POST / HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: ${data.length}\r\n\r\n`);
    client.socket.write(data);
    const { body } = await client.ended;
    expect(digest(Buffer.from(body, 'latin1'))).toBe(digest(data));
  });

  it('with a body in chunks passes it on', async () => {
    const { enter, authority, target } = await startOpened({
      entries: [`POST https://${NAME}:PORT/`],
      serve: (socket, received) => {
        socket.on('data', () => {
          if (received().endsWith('0\r\n\r\n')) socket.end('HTTP/1.1 204 None\r\n\r\n');
        });
      },
    });
    const client = await enter();
    client.socket.write(`POST / HTTP/1.1\r\nHost: ${authority}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    client.socket.write('3;x=y\r\nabc\r\n0\r\nTrailer: a\r\n\r\n');
    expect(statusOf(await client.ended)).toBe(204);
    expect(target.seen[0]).toMatch(/\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/);
  });

  it('to an address is opened with a certificate for the address', async () => {
    const { enter, authority, target } = await startOpened({
      host: '127.0.0.1',
      entries: ['https://127.0.0.1:PORT/'],
    });
    const { port } = target;
    const client = await enter({ servername: '', host: '127.0.0.1' });
    client.socket.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    expect(statusOf(await client.ended)).toBe(200);
    expect(target.seen[0]).toContain(`Host: ${authority}`);
  });

  it('through a door is opened as well', async () => {
    const { openDoor, target, decisions } = await startOpened();
    const { socket } = openClient(await openDoor(NAME, target.port, false));
    const client = speakTls(socket, { ca: RUN.certificatePem, servername: NAME });
    client.socket.write(`GET /v1/ HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`);
    expect(statusOf(await client.ended)).toBe(200);
    expect(decisions()).toMatchObject([{ method: 'GET', intercepted: true }]);
  });

  it('is none for a host that is not to be opened', async () => {
    const target = await startSecure(identityOf('other.test'), (socket) => socket.end('hello inside'));
    const { port, decisions } = await startOpened({
      entries: [`other.test:${target.port}`, `127.0.0.1:${target.port}`],
    });
    const { socket } = await openTunnel(port, `other.test:${target.port}`);
    const client = speakTls(socket, { ca: TARGETS.certificatePem, servername: 'other.test' });
    expect((await client.ended).text).toBe('hello inside');
    expect(decisions()).toMatchObject([{ method: 'CONNECT', intercepted: false }]);
  });

  it('is what an entry with a path needs', async () => {
    const target = await startSecure(identityOf(NAME), () => {});
    const { port } = await startProxy({
      entries: [`GET https://${NAME}:${target.port}/v1/`, `127.0.0.1:${target.port}`],
      answers: { [NAME]: ['127.0.0.1'] },
    });
    expect(statusOf(await talk(port, connectHead(`${NAME}:${target.port}`)))).toBe(403);
  });

  it('leaves plain requests as they are', async () => {
    const { port, authority } = await startOpened();
    expect(statusOf(await talk(port, plainHead('GET', `http://${authority}/v1/`)))).toBe(403);
  });
});

describe('the end of an opened tunnel', () => {
  const hanging = () => startOpened({ serve: (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nso far') });

  it('is seen by the target when the client goes away', async () => {
    const { enter, authority, target } = await hanging();
    const client = await enter();
    client.socket.write(`GET /v1/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await client.until('so far');
    client.socket.destroy();
    // Who heard an end learns that nobody listens any more when it speaks.
    await eventually(() => target.sockets[0]?.write('more') === false || target.raws[0]?.destroyed === true);
    await eventually(() => target.raws[0]?.destroyed === true);
  });

  it('does not look like the end of the answer when the target breaks off', async () => {
    const { enter, authority, target, proxy } = await hanging();
    const client = await enter();
    client.socket.write(`GET /v1/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await client.until('so far');
    target.raws[0]?.resetAndDestroy();
    expect((await client.ended).end).toBe('ECONNRESET');
    expect(proxy.facts().decisions[0]?.cut).toBe('Cannot go on: the target broke off');
  });

  it('comes with that of the proxy, at every step', async () => {
    const { enter, authority, target, proxy, port } = await hanging();
    const tunnelOnly = await openTunnel(port, authority);
    const noRequest = await enter();
    await new Promise((resolve) => noRequest.socket.once('secureConnect', resolve));
    const open = await enter();
    open.socket.write(`GET /v1/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await open.until('so far');
    proxy.close();
    const ends = await Promise.all([tunnelOnly.ended, noRequest.ended, open.ended]);
    expect(ends.map(({ end }) => end)).toEqual(['ECONNRESET', 'ECONNRESET', 'ECONNRESET']);
    await eventually(() => target.raws[0]?.destroyed === true);
    expect(proxy.facts()).toMatchObject({ faults: 0 });
  });

  it.each([
    ['does not begin TLS', ''],
    ['stops in its hello', '\x16\x03\x01\x01'],
  ])('comes in time for a client that %s', async (_what, bytes) => {
    const { port, authority, proxy } = await startOpened({ limits: { headMs: 150 } });
    const client = await openTunnel(port, authority);
    client.socket.write(Buffer.from(bytes, 'latin1'));
    expect((await client.ended).end).toBe('ECONNRESET');
    expect(proxy.facts().decisions).toMatchObject([{ method: 'CONNECT', verdict: 'deny', address: null }]);
    expect(proxy.facts().decisions[0]?.why).toContain('has sent no request, expected it within 150 ms');
  });

  it('comes in time for a client that asks for nothing inside, and it is told so', async () => {
    const { enter, authority } = await startOpened({ limits: { headMs: 1_500 } });
    const client = await enter();
    client.socket.write(`GET /v1/ HTTP/1.1\r\nHost: ${authority}\r\n`);
    expect(statusOf(await client.ended)).toBe(408);
  });

  it('comes when the proxy itself makes a mistake, and for that connection alone', async () => {
    const isFor = (host: Parameters<typeof formatHost>[0]) => formatHost(host) === NAME;
    const contextFor = () => {
      throw new Error('no context');
    };
    const { enter, proxy, port } = await startOpened({ options: { intercept: { isFor, contextFor } } });
    expect((await (await enter()).ended).text).toBe('');
    expect(proxy.facts()).toMatchObject({ faults: 1, decisions: [] });
    expect(statusOf(await talk(port, connectHead('other.test:443')))).toBe(403);
  });

  it('leaves nothing behind, however it comes', async () => {
    const { port, authority, enter, ask, proxy } = await startOpened({ limits: { connections: 1 } });
    const ways = [
      () => ask('GET /v1/'),
      () => ask('GET /v2/'),
      () => ask('GET http://other.test/'),
      async () => (await enter({ servername: 'other.test' })).ended,
      async () => (await enter({ protocols: ['h2'] })).ended,
      () => talk(port, connectHead(authority), 'no TLS'),
      () => talk(port, connectHead('other.test:443')),
    ];
    for (const way of ways) {
      // The only connection that there may be, so each has to wait until nothing is left of the one before.
      const before = proxy.facts().connections;
      for (let tries = before; tries === before; tries = proxy.facts().connections) await way();
    }
    expect(proxy.facts()).toMatchObject({ connections: ways.length, faults: 0 });
  });

  it('comes without a record for a client that only looked', async () => {
    const { port, authority, proxy } = await startOpened();
    const client = await openTunnel(port, authority);
    client.socket.end();
    expect((await client.ended).end).toBe('end');
    expect(proxy.facts()).toMatchObject({ requests: 1, decisions: [], faults: 0 });
  });
});

function digest(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
