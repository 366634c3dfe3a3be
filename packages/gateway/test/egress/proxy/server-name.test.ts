import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { identityOf, speakTls, startSecure, TARGETS } from './tls-world.ts';
import {
  allowing,
  connectHead,
  eventually,
  NAME,
  openClient,
  openTunnel,
  startEcho,
  startProxy,
  startTarget,
  talk,
} from './world.ts';

const ANSWERS = { [NAME]: ['127.0.0.1'] };

/** A proxy that allows one name, which is a target that sends back what it gets and any name would fit. */
async function startBoth() {
  const target = await startEcho();
  const proxy = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
  return { ...proxy, target, authority: `${NAME}:${target.port}` };
}

/** The first bytes of a client that means this name; without one it names none. */
function helloFor(servername: string | null, protocols: string[] = []): Promise<Buffer> {
  return new Promise((resolve) => {
    const under = new Duplex({
      read: () => {},
      write: (piece: Buffer, _encoding, done) => {
        resolve(piece);
        done();
      },
    });
    const options = servername === null ? {} : { servername };
    connect({ socket: under, ALPNProtocols: protocols, ...options }).on('error', () => {});
  });
}

/** A hello in records of this many bytes each. */
function inRecords(hello: Buffer, bytes: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += bytes) {
    const part = message.subarray(at, at + bytes);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

describe('a tunnel with TLS', () => {
  it('is joined when the hello names its host, and the target is spoken to', async () => {
    const target = await startSecure(identityOf(NAME), (socket) => socket.end('hello inside'));
    const { port, proxy } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const { socket } = await openTunnel(port, `${NAME}:${target.port}`);
    const inside = speakTls(socket, { ca: TARGETS.certificatePem, servername: NAME });
    expect((await inside.ended).text).toBe('hello inside');
    expect(proxy.facts().decisions).toMatchObject([{ cut: null, verdict: 'allow' }]);
  });

  it.each(['ALLOWED.test', 'allowed.test.'])('is joined when it is spelled %j', async (name) => {
    const { port, target, authority } = await startBoth();
    const hello = await helloFor(name);
    const client = await openTunnel(port, authority);
    client.socket.end(hello);
    expect((await client.ended).body).toBe(hello.toString('latin1'));
    expect(target.seen).toHaveLength(1);
  });

  it.each(['other.test', 'evil.allowed.test', 'allowed.test.evil.test', 'allowed_test', 'test'])(
    'is cut when the hello names %j, and nothing of it leaves',
    async (name) => {
      const { port, target, authority, proxy } = await startBoth();
      const client = await openTunnel(port, authority);
      client.socket.write(await helloFor(name));
      expect((await client.ended).end).toBe('ECONNRESET');
      await eventually(() => target.sockets[0]?.destroyed === true);
      expect(target.seen).toEqual(['']);
      expect(proxy.facts()).toMatchObject({ cut: 1, bytesOut: 0 });
      expect(proxy.facts().decisions[0]?.cut).toBe(
        `Cannot go on: the TLS hello names "${name}", expected "${NAME}"`,
      );
    },
  );

  it('to an address is cut when the hello names a host', async () => {
    const target = await startEcho();
    const { port, proxy } = await startProxy({ entries: [`127.0.0.1:${target.port}`] });
    const client = await openTunnel(port, `127.0.0.1:${target.port}`);
    client.socket.write(await helloFor(NAME));
    expect((await client.ended).end).toBe('ECONNRESET');
    expect(target.seen).toEqual(['']);
    expect(proxy.facts().decisions[0]?.cut).toContain(`names "${NAME}", expected "127.0.0.1"`);
  });

  it('is joined when the hello names nobody', async () => {
    const { port, authority } = await startBoth();
    const hello = await helloFor(null);
    const client = await openTunnel(port, authority);
    client.socket.end(hello);
    expect((await client.ended).body).toBe(hello.toString('latin1'));
  });

  it.each([
    ['byte by byte', 1, null],
    ['in pieces of three bytes', 3, null],
    ['in records of twenty bytes, byte by byte', 1, 20],
  ])('is looked at when its hello comes %s', async (_what, step, records) => {
    const { port, target, authority } = await startBoth();
    for (const [name, expected] of [[NAME, 'end'] as const, ['other.test', 'ECONNRESET'] as const]) {
      const whole = await helloFor(name);
      const hello = records === null ? whole : inRecords(whole, records);
      const client = await openTunnel(port, authority);
      for (let at = 0; at < hello.length; at += step) {
        client.socket.write(hello.subarray(at, at + step));
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (name === NAME) client.socket.end('behind');
      const { body, end } = await client.ended;
      expect({ body, end }).toEqual({
        body: name === NAME ? `${hello.toString('latin1')}behind` : '',
        end: expected,
      });
    }
    expect(target.seen[1]).toBe('');
  });

  it('is looked at when the hello comes with CONNECT', async () => {
    const { port, target, authority } = await startBoth();
    const [mine, other] = [await helloFor(NAME), await helloFor('other.test')];
    expect((await talk(port, connectHead(authority), other)).body).toBe('');
    const client = openClient(port);
    client.socket.end(Buffer.concat([Buffer.from(connectHead(authority)), mine]));
    expect((await client.ended).body).toBe(mine.toString('latin1'));
    expect(target.seen).toEqual(['', mine.toString('latin1')]);
  });

  it('through a door is looked at as well', async () => {
    const { openDoor, target, proxy } = await startBoth();
    const door = await openDoor(NAME, target.port, false);
    expect(await talk(door, await helloFor('other.test'))).toMatchObject({ text: '', end: 'ECONNRESET' });
    expect(proxy.facts().decisions[0]?.cut).toContain('names "other.test"');
    const hello = await helloFor(NAME);
    const client = openClient(door);
    client.socket.end(hello);
    expect((await client.ended).text).toBe(hello.toString('latin1'));
  });

  it.each([
    ['never ends', Buffer.concat([Buffer.from([22, 3, 1, 64, 0, 1, 0, 255, 251]), Buffer.alloc(70_000)])],
    ['says that it is longer than any', Buffer.from([22, 3, 1, 64, 0, 1, 255, 255, 255, 3, 3])],
    ['comes in a thousand records', Buffer.concat(Array(1_000).fill(Buffer.from([22, 3, 1, 0, 1, 1])))],
    ['has another record in front', Buffer.from([21, 3, 1, 0, 2, 1, 0])],
  ])('is cut when the hello %s', async (_what, bytes) => {
    const { port, target, authority, proxy } = await startBoth();
    const client = await openTunnel(port, authority);
    client.socket.write(bytes);
    expect((await client.ended).end).toBe('ECONNRESET');
    expect(target.seen).toEqual(['']);
    expect(proxy.facts().decisions[0]?.cut).toMatch(/^Cannot read hello: /);
  });

  it('is cut when its records come one by one without end', async () => {
    const { port, target, authority, proxy } = await startBoth();
    const client = await openTunnel(port, authority);
    client.socket.write(Buffer.from([22, 3, 1, 0, 4, 1, 0, 255, 0]));
    const drip = setInterval(() => client.socket.write(Buffer.from([22, 3, 1, 0, 1, 0])), 1);
    await client.ended;
    clearInterval(drip);
    expect(target.seen).toEqual(['']);
    expect(proxy.facts().decisions[0]?.cut).toContain('many small records');
  });

  it('is cut when the hello stops', async () => {
    const { port, target, authority, proxy } = await startBoth();
    const hello = await helloFor(NAME);
    const client = await openTunnel(port, authority);
    client.socket.end(hello.subarray(0, 50));
    await client.ended;
    expect(target.seen).toEqual(['']);
    expect(proxy.facts().decisions[0]?.cut).toBe('Cannot read hello: it stops, expected all of it');
  });

  it('is over in time when the hello stands still', async () => {
    const target = await startEcho();
    const { port, proxy } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
      limits: { idleMs: 100 },
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    const drip = setInterval(() => client.socket.write(Buffer.from([22])), 20);
    client.socket.write((await helloFor(NAME)).subarray(0, 100));
    await client.ended;
    clearInterval(drip);
    expect(target.seen).toEqual(['']);
    expect(proxy.facts().decisions[0]?.cut).toMatch(/^Cannot /);
  });
});

describe('a tunnel without TLS', () => {
  it.each(['SSH-2.0-x\r\n', 'GET / HTTP/1.1\r\n\r\n', '\x00', '\x80\x2e', '\xff'])(
    'that begins with %j is joined',
    async (text) => {
      const { port, authority } = await startBoth();
      const client = await openTunnel(port, authority);
      client.socket.end(Buffer.from(text, 'latin1'));
      expect((await client.ended).body).toBe(text);
    },
  );

  it('in which the client never says anything hears the target', async () => {
    const target = await startTarget((socket) => {
      socket.write('220 ready');
      socket.on('end', () => socket.end(' bye'));
    });
    const { port, proxy } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    await client.until('220 ready');
    client.socket.end();
    expect((await client.ended).body).toBe('220 ready bye');
    expect(proxy.facts().decisions).toMatchObject([{ cut: null, bytesOut: 0, bytesIn: 13 }]);
  });
});
