import { createHash, randomBytes } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectForRelay, relay } from '../../../src/egress/proxy/relay.ts';
import { eventually, listenOn } from './world.ts';

const MIB = 1024 * 1024;

/** How the connection came about that is read from. */
type Kind = 'accepted' | 'made for it';

/** Two connections: what is written to `source` comes in on `from`, and what goes out on `to` is read from `sink`. */
async function startPair(kind: Kind) {
  const ends: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => ends.push(socket));
  const port = await listenOn(server);
  const open = async (dial: typeof connectForRelay) => {
    const near = dial({ port, host: '127.0.0.1', allowHalfOpen: true });
    const before = ends.length;
    await eventually(() => ends.length > before);
    const far = ends[before];
    if (far === undefined) throw new Error('Cannot test: nobody connected');
    onTestFinished(() => {
      near.destroy();
      far.destroy();
    });
    return { near, far };
  };
  const isAccepted = kind === 'accepted';
  const [first, second] = [await open(isAccepted ? connect : connectForRelay), await open(connect)];
  onTestFinished(() => void server.close());
  const [source, from] = isAccepted ? [first.near, first.far] : [first.far, first.near];
  return { source, from, to: second.far, sink: second.near };
}

async function digestOf(socket: Socket): Promise<string> {
  const hash = createHash('sha256');
  let pieces = 0;
  for await (const piece of socket) {
    hash.update(piece);
    pieces += 1;
    // Slower than it is sent, so that the sender has to wait.
    if (pieces % 16 === 0) await pause(1);
  }
  return hash.digest('hex');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe.each<Kind>(['accepted', 'made for it'])('relay() from a connection that was %s', (kind) => {
  it('passes every byte on in its order, whatever the size of the pieces', async () => {
    const { source, from, to, sink } = await startPair(kind);
    const data = randomBytes(24 * MIB);
    relay(from, to, (piece) => [piece.subarray(0, 1), piece.subarray(1)]);
    from.once('end', () => to.end());
    for (let at = 0, size = 1; at < data.length; at += size, size = Math.min(size * 2, 3 * MIB))
      source.write(data.subarray(at, at + size));
    source.end();
    expect(await digestOf(sink)).toBe(createHash('sha256').update(data).digest('hex'));
  });

  it('passes a piece on at once, even one that fills a read', async () => {
    const { source, from, to, sink } = await startPair(kind);
    let received = 0;
    sink.on('data', (piece) => {
      received += piece.length;
    });
    relay(from, to, (piece) => [piece]);
    for (const bytes of [1, 65_536, 7, 131_072]) {
      const expected = received + bytes;
      source.write(Buffer.alloc(bytes));
      await eventually(() => received === expected);
    }
    expect(received).toBe(196_616);
  });

  it('does not read what the receiver does not take, and goes on when it does', async () => {
    const { source, from, to, sink } = await startPair(kind);
    const bytes = 64 * MIB;
    sink.pause();
    relay(from, to, (piece) => [piece]);
    from.once('end', () => to.end());
    source.end(Buffer.alloc(bytes));
    // The system takes some megabytes off the relay's hands first.
    for (let before = -1; before !== from.bytesRead || to.writableLength === 0; await pause(100))
      before = from.bytesRead;
    expect(from.bytesRead).toBeLessThan(bytes);
    expect(to.writableLength).toBeLessThanOrEqual(576 * 1024);
    sink.resume();
    await eventually(() => sink.readableEnded);
    expect(sink.bytesRead).toBe(bytes);
  });

  it('passes nothing on that the step leaves out', async () => {
    const { source, from, to, sink } = await startPair(kind);
    let received = '';
    sink.on('data', (piece) => {
      received += piece.toString('latin1');
    });
    relay(from, to, (piece) => (piece.includes('secret') ? [] : [piece]));
    from.once('end', () => to.end());
    for (const word of ['one ', 'a secret ', 'two']) {
      const read = from.bytesRead + word.length;
      source.write(word);
      await eventually(() => from.bytesRead === read);
    }
    source.end();
    await eventually(() => sink.readableEnded);
    expect(received).toBe('one two');
  });

  it('goes on when the receiver that took nothing had only a little to take', async () => {
    const { source, from, to, sink } = await startPair(kind);
    let sent = 0;
    const send = async (bytes: number) => {
      sent += bytes;
      await new Promise((resolve) => source.write(Buffer.alloc(bytes), resolve));
      await pause(0);
    };
    sink.pause();
    relay(from, to, (piece) => [piece]);
    while (to.writableLength === 0) await send(8_000);
    await send(1);
    sink.resume();
    await eventually(() => sink.bytesRead === sent);
    expect(to.writableLength).toBe(0);
  });
});

describe('connectForRelay()', () => {
  it('reads nothing before it is relayed, and then all of it', async () => {
    const { source, from, to, sink } = await startPair('made for it');
    source.end('early');
    await pause(50);
    expect(from.bytesRead).toBe(0);
    relay(from, to, (piece) => [piece]);
    from.once('end', () => to.end());
    expect(Buffer.concat(await sink.toArray()).toString()).toBe('early');
  });

  it('holds a large buffer only while much comes', async () => {
    const { source, from, to, sink } = await startPair('made for it');
    const held: number[] = [];
    relay(from, to, (piece) => {
      held.push(piece.buffer.byteLength);
      return [piece];
    });
    sink.resume();
    const send = async (bytes: number) => {
      const expected = sink.bytesRead + bytes;
      source.write(Buffer.alloc(bytes));
      await eventually(() => sink.bytesRead === expected);
    };
    await send(1);
    await send(24 * MIB);
    expect(Math.max(...held)).toBe(512 * 1024);
    await send(1);
    await send(1);
    expect([held.at(0), held.at(-1)]).toEqual([16 * 1024, 16 * 1024]);
  });
});
