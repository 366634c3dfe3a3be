/** Clients that ask for a tunnel and speak HTTP in the open inside, where the list allows HTTP alone. */
import { describe, expect, it } from 'vitest';
import type { BoundSecret } from '../../../src/egress/secrets.ts';
import { RUN, speakTls, startOpened } from './tls-world.ts';
import {
  connectHead,
  HELLO,
  NAME,
  openClient,
  openTunnel,
  startAnswering,
  startEcho,
  startHttp,
  startProxy,
  statusOf,
  talk,
} from './world.ts';

const ANSWERS = { [NAME]: ['127.0.0.1'] };

type Terms = { readonly entries?: readonly string[]; readonly answer?: string };

/** A target and a proxy whose entries are for HTTP alone; their port is written as PORT. */
async function start({ entries = [`http://${NAME}:PORT/`], answer = HELLO }: Terms = {}) {
  const target = await startAnswering(answer);
  const own = entries.map((entry) => entry.replace('PORT', String(target.port)));
  const proxy = await startProxy({ entries: [...own, `127.0.0.1:${target.port}`], answers: ANSWERS });
  const authority = `${NAME}:${target.port}`;
  const ask = async (line: string, ...headers: string[]) => {
    const client = await openTunnel(proxy.port, authority);
    client.socket.write(inside(line, authority, ...headers));
    const { body } = await client.ended;
    return { text: body, client };
  };
  return { ...proxy, target, authority, ask };
}

function inside(line: string, host: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, `Host: ${host}`, ...headers, '', ''].join('\r\n');
}

describe('a tunnel in which HTTP in the open is allowed', () => {
  it('carries one request, which is recorded with its method and the address it went to', async () => {
    const { ask, target, authority, decisions, proxy } = await start();
    const { text } = await ask('GET /a?b', 'X-A: b');
    expect(statusOf({ text })).toBe(200);
    expect(text).toMatch(/\r\nConnection: close\r\n\r\nhello$/);
    expect(target.seen).toEqual([
      `GET /a?b HTTP/1.1\r\nHost: ${authority}\r\nX-A: b\r\nConnection: close\r\n\r\n`,
    ]);
    expect(decisions()).toMatchObject([
      {
        ...{ host: NAME, port: target.port, address: '127.0.0.1', method: 'GET', verdict: 'allow' },
        ...{ rule: `http://${authority}/`, cut: null, intercepted: false },
      },
    ]);
    expect(proxy.facts()).toMatchObject({ requests: 1, denied: 0, malformed: 0, faults: 0 });
  });

  it('carries a body both ways, whole', async () => {
    const sent = 'x'.repeat(300_000);
    const { port: target } = await startHttp((request, response) => request.pipe(response));
    const entries = [`POST http://${NAME}:${target}/`, `127.0.0.1:${target}`];
    const { port } = await startProxy({ entries, answers: ANSWERS });
    const client = await openTunnel(port, `${NAME}:${target}`);
    const lengths = ['Content-Length: 300000', 'Expect: 100-continue'];
    client.socket.write(inside('POST /', `${NAME}:${target}`, ...lengths));
    await client.until('100 Continue');
    client.socket.write(sent);
    const { body } = await client.ended;
    expect(body.match(/x+/g)?.join('').length).toBe(sent.length);
    expect(body).toContain('HTTP/1.1 200 OK');
  });

  it('is there before the target is, and nothing is looked up until it is asked for something', async () => {
    const { port, authority, asked, target } = await start();
    const client = await openTunnel(port, authority);
    expect({ asked, sockets: target.sockets }).toEqual({ asked: [], sockets: [] });
    client.socket.write(inside('GET /', authority));
    expect((await client.ended).body).toContain('hello');
    expect(asked).toEqual([NAME]);
  });

  it.each([
    ['all at once', (text: string) => [text]],
    ['in small pieces', (text: string) => [...text]],
  ])('takes a request that comes %s', async (_how, cut) => {
    const { port, authority } = await start();
    const client = openClient(port);
    for (const piece of cut(connectHead(authority) + inside('GET /', authority))) {
      client.socket.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await client.ended).text).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\n.*hello$/s);
  });

  it('takes a request in HTTP/1.0 and one in absolute form for its own host', async () => {
    const { port, authority, ask, target } = await start();
    const old = await openTunnel(port, authority);
    old.socket.write('GET / HTTP/1.0\r\n\r\n');
    expect((await old.ended).body).toContain('hello');
    expect((await ask(`GET http://${authority}/a`)).text).toContain('hello');
    expect(target.seen[1]).toMatch(/^GET \/a /);
  });

  it.each([
    ['an entry for a path', ['http://allowed.test:PORT/v1/'], 'GET /v1/a'],
    ['an entry for a method', ['GET http://allowed.test:PORT/'], 'GET /'],
    ['a denied method', ['http://allowed.test:PORT', '!POST http://allowed.test/'], 'GET /'],
    ['a denied path', ['http://allowed.test:PORT', '!http://allowed.test/admin'], 'GET /a'],
    [
      'a denial of https',
      ['http://allowed.test:PORT', 'allowed.test:PORT', '!https://allowed.test'],
      'GET /',
    ],
  ])('is there for %s', async (_what, entries, line) => {
    const { ask, decisions } = await start({ entries });
    expect(statusOf(await ask(line))).toBe(200);
    expect(decisions()).toMatchObject([{ method: 'GET', verdict: 'allow' }]);
  });

  it('fills in the secrets that are for its host and port, and hides what comes back of them', async () => {
    const target = await startAnswering('HTTP/1.1 200 OK\r\nX-Echo: sk-1\r\nContent-Length: 0\r\n\r\n');
    const isFor: BoundSecret['isFor'] = (_host, port) => port === target.port;
    const { port, decisions } = await startProxy({
      entries: [`http://${NAME}:${target.port}`, `127.0.0.1:${target.port}`],
      answers: ANSWERS,
      options: { secrets: [{ name: 'key', placeholder: 'PLACE', value: 'sk-1', isFor }] },
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.write(inside('GET /PLACE', `${NAME}:${target.port}`, 'Authorization: Bearer PLACE'));
    const { body } = await client.ended;
    expect(target.seen[0]).toContain('Authorization: Bearer sk-1\r\n');
    expect(target.seen[0]).toMatch(/^GET \/PLACE /);
    expect(body).toContain('X-Echo: PLACE\r\n');
    expect(decisions()).toMatchObject([{ secrets: ['key'] }]);
  });

  it('ends without a record when nobody asks for anything', async () => {
    const { port, authority, proxy } = await start();
    const client = await openTunnel(port, authority);
    client.socket.end();
    expect((await client.ended).end).toBe('end');
    expect(proxy.facts()).toMatchObject({ decisions: [], faults: 0 });
  });

  it('leaves nothing behind, however it ends', async () => {
    const target = await startAnswering(HELLO);
    const authority = `${NAME}:${target.port}`;
    const { port, proxy } = await startProxy({
      entries: [`GET http://${authority}/`, `127.0.0.1:${target.port}`],
      answers: ANSWERS,
      limits: { connections: 1 },
    });
    const ways = [
      inside('GET /', authority),
      inside('POST /', authority),
      'SSH-2.0-x\r\n',
      '\x16\x03\x01\0\0',
    ];
    for (const way of ways) {
      // The only connection that there may be, so each has to wait until nothing is left of the one before.
      const before = proxy.facts().connections;
      for (let tries = before; tries === before; tries = proxy.facts().connections)
        await talk(port, connectHead(authority), way);
    }
    expect(proxy.facts()).toMatchObject({ connections: ways.length, faults: 0 });
  });
});

describe('a tunnel that is allowed as such', () => {
  it('is not looked into, even if an entry for http is there as well', async () => {
    const target = await startEcho();
    const { port, decisions } = await startProxy({
      entries: [`${NAME}:${target.port}`, `GET http://${NAME}:${target.port}/a`, `127.0.0.1:${target.port}`],
      answers: ANSWERS,
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.end('POST /b HTTP/1.1\r\nHost: other.test\r\n\r\n');
    expect((await client.ended).body).toBe('POST /b HTTP/1.1\r\nHost: other.test\r\n\r\n');
    expect(decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'allow' }]);
  });
});

describe('a tunnel to a host whose TLS is opened', () => {
  it('carries HTTP in the open where that is allowed, decided on as such', async () => {
    const target = await startAnswering(HELLO);
    const place = { ...target, sockets: [], raws: target.sockets };
    const entries = [`${NAME}:PORT`, `!http://${NAME}/sealed`];
    const { port, authority, decisions } = await startOpened({ place, entries });
    const ask = async (path: string) => {
      const client = await openTunnel(port, authority);
      client.socket.write(inside(`GET ${path}`, authority));
      return statusOf({ text: (await client.ended).body });
    };
    expect(await ask('/open')).toBe(200);
    expect(await ask('/sealed')).toBe(403);
    expect(decisions()).toMatchObject([
      { verdict: 'allow', intercepted: false },
      { verdict: 'deny', intercepted: false },
    ]);
  });

  it('is opened for TLS all the same', async () => {
    const entries = [`GET http://${NAME}:PORT/open`, `GET https://${NAME}:PORT/sealed`];
    const { ask, decisions } = await startOpened({ entries });
    expect(statusOf(await ask('GET /sealed'))).toBe(200);
    expect(statusOf(await ask('GET /open'))).toBe(403);
    expect(decisions()).toMatchObject([{ intercepted: true }, { intercepted: true }]);
  });
});

describe('a door that passes on what it cannot read', () => {
  it('reads HTTP in the open where nothing else is allowed', async () => {
    const { openDoor, target, authority, decisions } = await start({ entries: [`GET http://${NAME}:PORT/`] });
    const door = await openDoor(NAME, target.port, false);
    expect((await talk(door, inside('GET /', authority))).body).toBe('hello');
    const denied = await talk(door, inside('POST /', authority));
    expect(denied.head).toContain('X-Palisade-Egress: denied');
    expect(decisions().map(({ method, verdict }) => `${method} ${verdict}`)).toEqual([
      'GET allow',
      'POST deny',
    ]);
  });

  it('resets a client that speaks TLS there, without a byte', async () => {
    const { openDoor, target, decisions } = await start();
    const door = openClient(await openDoor(NAME, target.port, false));
    const client = speakTls(door.socket, { ca: RUN.certificatePem, servername: NAME });
    expect(await client.ended).toMatchObject({ text: '', end: 'ECONNRESET' });
    expect((await door.ended).text).toBe('');
    expect(decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'deny' }]);
    expect(target.sockets).toEqual([]);
  });
});
