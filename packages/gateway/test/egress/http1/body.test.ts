import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatChunks } from '../../../src/egress/http1/body.ts';
import { cutAt, readBody } from './read.ts';

const CHUNKED = { kind: 'chunked' } as const;

function readChunked(text: string) {
  const read = readBody(CHUNKED, 'request', [Buffer.from(text, 'latin1')]);
  return read.ok ? read.value : read.problem.status;
}

describe('a chunked body', () => {
  it('gives the data of its chunks and nothing behind its end', () => {
    const text = '3\r\nabc\r\nA;name=value\r\n0123456789\r\n0\r\nX-Trailer: dropped\r\n\r\nGET /second';
    expect(readChunked(text)).toEqual({ text: 'abc0123456789', isDone: true });
  });

  it.each([
    ['a size with a sign', '+3\r\nabc\r\n0\r\n\r\n'],
    ['a size with a prefix', '0x3\r\nabc\r\n0\r\n\r\n'],
    ['a size with a space in front', ' 3\r\nabc\r\n0\r\n\r\n'],
    ['a size that is none', 'g\r\nabc\r\n0\r\n\r\n'],
    ['an empty size', '\r\nabc\r\n0\r\n\r\n'],
    ['a size beyond numbers', 'fffffffffffffffff\r\nabc\r\n0\r\n\r\n'],
    ['a lone LF after the size', '3\nabc\r\n0\r\n\r\n'],
    ['a lone CR in the size', '3\r3\r\nabc\r\n0\r\n\r\n'],
    ['a lone LF after the data', '3\r\nabc\n0\r\n\r\n'],
    ['a lone LF in an extension', '3;a\nb\r\nabc\r\n0\r\n\r\n'],
    ['more data than its size', '3\r\nabcd\r\n0\r\n\r\n'],
    ['NUL in an extension', '3;\0\r\nabc\r\n0\r\n\r\n'],
    ['a long extension', `3;${'a'.repeat(300)}\r\nabc\r\n0\r\n\r\n`],
    ['a folded trailer', '0\r\n a: b\r\n\r\n'],
    ['a trailer without a colon', '0\r\nab\r\n\r\n'],
    ['trailers without end', `0\r\n${'a: b\r\n'.repeat(300)}\r\n`],
  ])('with %s is refused', (_what, text) => {
    expect(readChunked(text)).toBe(400);
  });

  it.each(['3\r\nab', '3\r\nabc', '3\r\nabc\r\n', '3\r\nabc\r\n0\r\n', '0\r\na: b\r\n'])(
    'is not at its end after %j',
    (text) => expect(readChunked(text)).toMatchObject({ isDone: false }),
  );

  it('that was put into frames gives the same data, wherever it is cut', () => {
    const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(pieces, fc.array(fc.nat(400), { maxLength: 12 }), (data, places) => {
        const buffers = data.map((each) => Buffer.from(each));
        const framed = Buffer.concat(formatChunks(buffers, true));
        const read = readBody(CHUNKED, 'request', cutAt(framed, places));
        expect(read).toEqual({
          ok: true,
          value: { text: Buffer.concat(buffers).toString('latin1'), isDone: true },
        });
      }),
    );
  });
});

describe('a body with a length', () => {
  it('gives so many bytes and none behind them, wherever it is cut', () => {
    fc.assert(
      fc.property(fc.nat(30), fc.array(fc.nat(30), { maxLength: 6 }), (bytes, places) => {
        const sent = Buffer.from('abcdefghijklmnopqrstuvwxyz');
        const read = readBody({ kind: 'length', bytes }, 'request', cutAt(sent, places));
        expect(read).toMatchObject({
          value: { text: sent.toString().slice(0, bytes), isDone: bytes <= sent.length },
        });
      }),
    );
  });
});
