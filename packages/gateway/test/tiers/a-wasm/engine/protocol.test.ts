import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FRAMES,
  type Frame,
  type FrameKind,
  FrameReader,
  frameOf,
} from '../../../../src/tiers/a-wasm/engine/protocol.ts';

const MIB = 1024 * 1024;

const frame = fc.record({
  kind: fc.constantFrom(...(Object.keys(FRAMES) as FrameKind[])),
  head: fc.oneof(fc.dictionary(fc.string(), fc.integer()), fc.constant(null), fc.integer()),
  bytes: fc.uint8Array({ maxLength: 300 }),
});

/** The bytes in pieces that end where these numbers say. */
function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = [...new Set(at.map((each) => each % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((from, index) => bytes.subarray(from, ends[index] ?? bytes.length));
}

function plain({ kind, head, bytes }: Frame) {
  return { kind, head, bytes: Buffer.from(bytes).toString('hex') };
}

describe('frames', () => {
  it('are read the same in whatever pieces they come', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.nat()), (sent, at) => {
        const reader = new FrameReader(MIB, MIB);
        const bytes = Buffer.concat(sent.map(({ kind, head, bytes: rest }) => frameOf(kind, head, rest)));
        const read = cut(bytes, at).map((piece) => reader.read(piece));
        expect(read).not.toContain(null);
        expect(read.flatMap((frames) => frames ?? []).map(plain)).toEqual(
          sent.map((each) => plain({ ...each, head: JSON.parse(JSON.stringify(each.head)) })),
        );
      }),
    );
  });

  it('that make no sense are the end of a reader, in whatever pieces they come', () => {
    fc.assert(
      fc.property(
        frame,
        fc.array(fc.nat()),
        fc.integer({ min: 301, max: 0xffff_ffff }),
        (good, at, length) => {
          const reader = new FrameReader(300, 300);
          const bad = Buffer.alloc(40);
          bad.writeUInt32LE(length, 0);
          const first = frameOf(good.kind, 1);
          const observed = cut(Buffer.concat([first, bad]), at).map((piece) => reader.read(piece));
          expect(observed.at(-1)).toBe(null);
          expect(reader.read(frameOf('ready', {}))).toBe(null);
        },
      ),
    );
  });

  it('of any bytes at all are read or refused, and never thrown at', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (pieces) => {
        const reader = new FrameReader(64, 32);
        for (const piece of pieces) {
          const frames = reader.read(Buffer.from(piece));
          for (const each of frames ?? []) expect(Object.keys(FRAMES)).toContain(each.kind);
        }
      }),
    );
  });

  it('that come a byte at a time are kept in about their own bytes', () => {
    const bytes = frameOf('ask', { name: 'storage_put' }, Buffer.alloc(4 * MIB, 7));
    const reader = new FrameReader(8 * MIB, MIB);
    const before = process.memoryUsage();
    let read: readonly Frame[] | null = [];
    for (let at = 0; at < bytes.length - 1; at += 1) read = reader.read(bytes.subarray(at, at + 1));
    expect(read).toEqual([]);
    const after = process.memoryUsage();
    // A list of four million pieces would be hundreds of megabytes.
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(24 * MIB);
    expect(after.heapUsed - before.heapUsed).toBeLessThan(128 * MIB);
    const whole = reader.read(bytes.subarray(-1));
    expect(whole?.map((each) => [each.kind, each.bytes.length])).toEqual([['ask', 4 * MIB]]);
  });
});
