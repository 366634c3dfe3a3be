import { createHash, randomBytes } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { relay } from '../../../src/egress/proxy/relay.ts';
import { eventually, listenOn } from './world.ts';

const MIB = 1024 * 1024;

/** Two connections: what is written to `source` comes in on `from`, and what goes out on `to` is read from `sink`. */
async function startPair() {
  const ends: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => ends.push(socket));
  const port = await listenOn(server);
  const open = async () => {
    const near = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
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
  const [first, second] = [await open(), await open()];
  onTestFinished(() => void server.close());
  return { source: first.near, from: first.far, to: second.far, sink: second.near };
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

describe('relay()', () => {
  it('passes every byte on in its order, whatever the size of the pieces', async () => {
    const { source, from, to, sink } = await startPair();
    const data = randomBytes(24 * MIB);
    relay(from, to, (piece) => [piece.subarray(0, 1), piece.subarray(1)]);
    from.once('end', () => to.end());
    for (let at = 0, size = 1; at < data.length; at += size, size = Math.min(size * 2, 3 * MIB))
      source.write(data.subarray(at, at + size));
    source.end();
    expect(await digestOf(sink)).toBe(createHash('sha256').update(data).digest('hex'));
  });

  it('passes a piece on at once, even one that fills a read', async () => {
    const { source, from, to, sink } = await startPair();
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
    const { source, from, to, sink } = await startPair();
    const bytes = 64 * MIB;
    sink.pause();
    relay(from, to, (piece) => [piece]);
    from.once('end', () => to.end());
    source.end(Buffer.alloc(bytes));
    // The system takes some megabytes off the relay's hands first.
    for (let before = -1; before !== from.bytesRead || !from.isPaused(); await pause(100))
      before = from.bytesRead;
    expect(from.bytesRead).toBeLessThan(bytes);
    expect(to.writableLength).toBeLessThanOrEqual(576 * 1024);
    sink.resume();
    await eventually(() => sink.readableEnded);
    expect(sink.bytesRead).toBe(bytes);
  });

  it('passes nothing on that the step leaves out', async () => {
    const { source, from, to, sink } = await startPair();
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
});
