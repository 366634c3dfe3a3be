import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { readClientHello } from '../../../src/egress/tls/client-hello.ts';
import { readHello } from '../../../src/egress/tls/opening.ts';
import { cutAt } from '../http1/read.ts';

/** A hello for this name in records of so many bytes each. */
function helloOf(name: string, recordBytes: number): Buffer {
  const text = Buffer.from(name, 'latin1');
  const length = (bytes: number) => Buffer.from([bytes >> 8, bytes & 255]);
  const entry = Buffer.concat([Buffer.of(0), length(text.length), text]);
  const names = Buffer.concat([length(entry.length), entry]);
  const extension = Buffer.concat([length(0), length(names.length), names]);
  const fixed = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    Buffer.from([0, 0, 2, 19, 1, 1, 0]),
  ]);
  const body = Buffer.concat([fixed, length(extension.length), extension]);
  const message = Buffer.concat([Buffer.from([1, 0]), length(body.length), body]);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += recordBytes) {
    const part = message.subarray(at, at + recordBytes);
    records.push(Buffer.from([22, 3, 1]), length(part.length), part);
  }
  return Buffer.concat(records);
}

/** What is found in these pieces, and what is left to be read of them. */
async function readPieces(pieces: readonly Buffer[]) {
  const stream = new PassThrough();
  const opening = readHello(stream);
  for (const piece of pieces) {
    stream.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.end();
  const found = await opening;
  const rest: Buffer[] = [];
  if (found.kind !== 'silent' && !stream.readableEnded) for await (const part of stream) rest.push(part);
  return { found, rest: Buffer.concat(rest) };
}

describe('readHello()', () => {
  it('finds the same in any pieces as in one, and leaves every byte', async () => {
    const name = fc.constantFrom('a.test', 'allowed.test', 'x'.repeat(200));
    const cuts = fc.array(fc.nat(400), { maxLength: 12 });
    const edit = fc.option(fc.tuple(fc.nat(120), fc.nat(255)), { freq: 3 });
    await fc.assert(
      fc.asyncProperty(
        name,
        fc.integer({ min: 3, max: 300 }),
        cuts,
        edit,
        async (host, records, at, change) => {
          const bytes = Buffer.concat([helloOf(host, records), Buffer.from('behind it')]);
          if (change !== null) bytes[change[0] % bytes.length] = change[1];
          const whole = readClientHello(bytes);
          const { found, rest } = await readPieces(cutAt(bytes, at).filter(({ length }) => length > 0));
          // What stops before it is whole is malformed to who waits for the rest.
          const expected = whole.kind === 'more' ? 'malformed' : whole.kind;
          expect(found.kind).toBe(expected);
          if (found.kind === 'hello') expect(found).toEqual(whole);
          if (found.kind !== 'malformed') expect(rest.equals(bytes)).toBe(true);
        },
      ),
      { numRuns: volume(150, 30) },
    );
  });

  it('finds the name in the hello that the other tests are made of', async () => {
    const { found } = await readPieces([helloOf('a.test', 300)]);
    expect(found).toEqual({ kind: 'hello', serverName: 'a.test', protocols: [] });
  });

  it('knows a client that ends without a byte', async () => {
    expect((await readPieces([])).found).toEqual({ kind: 'silent' });
  });
});
