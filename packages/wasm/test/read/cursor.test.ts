import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { WasmError } from '../../src/error.ts';
import { Cursor } from '../../src/read/cursor.ts';
import { moduleOf, section } from '../fixture/builder.ts';
import { signed, unsigned } from '../fixture/leb.ts';

const cursorOf = (bytes: readonly number[]) => new Cursor(new Uint8Array(bytes));

/** Whether a cursor's read takes all of the bytes. */
function takesAll(bytes: readonly number[], read: (cursor: Cursor) => unknown): boolean {
  const cursor = cursorOf(bytes);
  try {
    read(cursor);
    return cursor.left === 0;
  } catch (error) {
    if (error instanceof WasmError && error.code === 'malformed') return false;
    throw error;
  }
}

/** Numbers as attackers write them: mostly continued, with ends that are at the edge. */
const numbers = (most: number) =>
  fc
    .tuple(
      fc.array(fc.oneof(fc.constantFrom(0x80, 0xff), fc.integer({ min: 0x80, max: 0xff })), {
        maxLength: most,
      }),
      fc.oneof(
        fc.integer({ min: 0, max: 0xff }),
        fc.constantFrom(0x00, 0x07, 0x08, 0x0f, 0x10, 0x70, 0x78, 0x7f),
      ),
    )
    .map(([head, last]) => [...head, last]);

const wholeGlobal = (type: number, opcode: number, bytes: readonly number[]) =>
  WebAssembly.validate(moduleOf([section(6, [1, type, 0, opcode, ...bytes, 0x0b])]));

describe('Cursor', () => {
  it('takes exactly the u32 that V8 takes', () => {
    fc.assert(
      fc.property(numbers(6), (bytes) => {
        // The maximum of a table may be any u32.
        const v8 = WebAssembly.validate(moduleOf([section(4, [1, 0x70, 1, 0, ...bytes])]));
        expect(takesAll(bytes, (cursor) => cursor.u32('a number'))).toBe(v8);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });

  it('takes exactly the i32 that V8 takes', () => {
    fc.assert(
      fc.property(numbers(6), (bytes) => {
        expect(takesAll(bytes, (cursor) => cursor.i32('a number'))).toBe(wholeGlobal(0x7f, 0x41, bytes));
      }),
      { numRuns: volume(2_000, 30) },
    );
  });

  it('takes exactly the i64 that V8 takes', () => {
    fc.assert(
      fc.property(numbers(11), (bytes) => {
        expect(takesAll(bytes, (cursor) => cursor.skipI64('a number'))).toBe(wholeGlobal(0x7e, 0x42, bytes));
      }),
      { numRuns: volume(2_000, 30) },
    );
  });

  it('reads back every u32, i32 and s33 that was written', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.integer({ min: 1, max: 5 }), (value, width) => {
        expect(cursorOf(unsigned(value, width)).u32('a number')).toBe(value);
        expect(cursorOf(signed(value | 0)).i32('a number')).toBe(value | 0);
        expect(cursorOf(signed(value)).s33('a number')).toBe(value);
        expect(cursorOf(signed(-value)).s33('a number')).toBe(0 - value);
      }),
    );
  });

  it.each([
    ['the largest', [0xff, 0xff, 0xff, 0xff, 0x0f], 2 ** 32 - 1],
    ['the smallest', [0x80, 0x80, 0x80, 0x80, 0x70], -(2 ** 32)],
    ['a padded -64', [0xc0, 0xff, 0xff, 0xff, 0x7f], -64],
  ])('reads %s s33', (_which, bytes, value) => {
    expect(cursorOf(bytes).s33('a number')).toBe(value);
  });

  it.each([
    ['one bit too many', [0xff, 0xff, 0xff, 0xff, 0x1f]],
    ['unused bits that are not the sign', [0x80, 0x80, 0x80, 0x80, 0x60]],
    ['six bytes', [0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
  ])('refuses an s33 with %s', (_what, bytes) => {
    expect(() => cursorOf(bytes).s33('a number')).toThrow(WasmError);
  });

  it('never reads past the end of its range, even where there are more bytes', () => {
    const cursor = new Cursor(new Uint8Array([0x80, 0x80, 0x01, 0x01]), 0, 2);
    expect(() => cursor.u32('a number')).toThrow(
      /the bytes end inside a number, expected more \(at byte 2\)/,
    );
    expect(() => new Cursor(new Uint8Array(8), 2, 4).skip(3, 'a part')).toThrow(/3 bytes where 2 are left/);
    expect(() => new Cursor(new Uint8Array([0x41, 0x42, 0x43]), 0, 2).text(3, 'a name')).toThrow(WasmError);
  });

  it('reads names in strict UTF-8, with a byte order mark kept', () => {
    const read = (bytes: readonly number[]) => cursorOf(bytes).text(bytes.length, 'a name');
    expect(read([...new TextEncoder().encode('grüße 👋\0')])).toBe('grüße 👋\0');
    expect(read([0xef, 0xbb, 0xbf, 0x41])).toBe('\ufeffA');
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]]) {
      expect(() => read(bytes)).toThrow(/is no UTF-8/);
    }
  });
});
