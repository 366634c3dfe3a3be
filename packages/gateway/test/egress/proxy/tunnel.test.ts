import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
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

describe('a tunnel', () => {
  it('carries any bytes both ways, those sent with its head as well', async () => {
    const target = await startEcho();
    const { port, decisions, proxy } = await startProxy({
      entries: allowing(NAME, target.port),
      answers: ANSWERS,
    });
    const client = openClient(port);
    client.socket.write(`${connectHead(`${NAME}:${target.port}`)}early`);
    await client.until('early');
    client.socket.end('\0\r\n\r\nGET / \xff');
    const { text } = await client.ended;
    expect(text).toBe('HTTP/1.1 200 Connection established\r\n\r\nearly\0\r\n\r\nGET / \xc3\xbf');
    expect(decisions()).toMatchObject([
      { host: NAME, port: target.port, address: '127.0.0.1', method: 'CONNECT', verdict: 'allow', cut: null },
    ]);
    await eventually(() => proxy.facts().bytesIn === 18);
    expect(proxy.facts().decisions).toMatchObject([{ bytesIn: 18, bytesOut: 18 }]);
  });

  it('carries megabytes without a change', async () => {
    const data = randomBytes(4 * 1024 * 1024);
    const target = await startEcho();
    const { port } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.end(data);
    const { body } = await client.ended;
    expect(digest(Buffer.from(body, 'latin1'))).toBe(digest(data));
  });

  it('lets one side go on after the other has said all', async () => {
    const target = await startTarget((socket, received) => {
      socket.on('end', () => socket.end(`you said ${received()}`));
    });
    const { port } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.end('all');
    expect((await client.ended).body).toBe('you said all');
  });

  it('brings all to a target that spoke first and reads slowly', async () => {
    // More than the buffers of the system hold.
    const bytes = 24 * 1024 * 1024;
    const target = await startTarget((socket) => {
      socket.end('bye');
      socket.on('data', () => {
        socket.pause();
        setTimeout(() => socket.resume(), 1);
      });
    });
    const { port } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.end(Buffer.alloc(bytes, 'a'));
    expect((await client.ended).body).toBe('bye');
    await eventually(() => target.sockets[0]?.readableEnded === true || target.sockets[0]?.errored !== null);
    expect(target.seen[0]?.length).toBe(bytes);
  });

  it('whose target breaks off breaks off for the client', async () => {
    const target = await startTarget((socket) => socket.on('data', () => socket.resetAndDestroy()));
    const { port, proxy } = await startProxy({ entries: allowing(NAME, target.port), answers: ANSWERS });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.write('x');
    expect((await client.ended).end).toBe('ECONNRESET');
    expect(proxy.facts().decisions[0]?.cut).toBe('Cannot go on: the target broke off');
  });

  it('to a closed port is a 502 that says so', async () => {
    const target = await startEcho();
    const { port, decisions } = await startProxy({
      entries: ['127.0.0.1:1', ...allowing(NAME, target.port)],
    });
    const { text } = await talk(port, connectHead('127.0.0.1:1'));
    expect(text).toMatch(
      /^HTTP\/1\.1 502 Cannot connect to target: 127\.0\.0\.1 refuses the connection \(ECONNREFUSED\)/,
    );
    expect(decisions()).toMatchObject([{ verdict: 'allow', address: null }]);
  });

  it('goes to the next checked address when the first does not answer', async () => {
    const target = await startEcho();
    const { port, decisions } = await startProxy({
      entries: [`${NAME}:${target.port}`, `127.0.0.0/8:${target.port}`],
      answers: { [NAME]: ['127.0.0.99', '127.0.0.1'] },
    });
    const client = await openTunnel(port, `${NAME}:${target.port}`);
    client.socket.end('hi');
    expect((await client.ended).body).toBe('hi');
    expect(decisions()).toMatchObject([{ address: '127.0.0.1' }]);
  });
});

describe('close()', () => {
  it('ends tunnels, requests on their way and the listening socket, and leaves the facts', async () => {
    const target = await startEcho();
    let release: (answer: readonly string[]) => void = () => {};
    const held = new Promise<readonly string[]>((resolve) => {
      release = resolve;
    });
    const { port, proxy, server } = await startProxy({
      entries: [...allowing(NAME, target.port), 'slow.test:443'],
      answers: { ...ANSWERS, 'slow.test': () => held },
    });
    const open = await openTunnel(port, `${NAME}:${target.port}`);
    const looking = openClient(port);
    looking.socket.write(connectHead('slow.test:443'));
    await eventually(() => proxy.facts().decisions.length === 2);
    const reading = openClient(port);
    reading.socket.write('CONNECT ');
    await eventually(() => proxy.facts().connections === 3);
    proxy.close();
    expect(server.listening).toBe(false);
    const ends = await Promise.all([open.ended, looking.ended, reading.ended]);
    expect(ends.map(({ end }) => end)).toEqual(['ECONNRESET', 'ECONNRESET', 'ECONNRESET']);
    await eventually(() => target.sockets[0]?.destroyed === true);
    const cut = 'Cannot go on: the run has ended';
    expect(proxy.facts().decisions).toMatchObject([{ cut }, { cut, address: null }]);
    release([]);
  });
});

function digest(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
