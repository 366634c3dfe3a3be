import { describe, expect, it } from 'vitest';
import { WasmError } from '../../src/error.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { readModule } from '../../src/read/module.ts';
import { custom, HEADER, moduleOf, section } from '../fixture/builder.ts';
import { hasExtendedConstants } from '../fixture/features.ts';

type Bytes = readonly number[];

function refusal(bytes: Uint8Array): WasmError {
  try {
    readModule(bytes, DEFAULT_LIMITS);
  } catch (error) {
    if (error instanceof WasmError) return error;
    throw error;
  }
  throw new Error('Cannot find a refusal: the module was read');
}

const raw = (...bytes: Bytes) => new Uint8Array(bytes);
const text = (source: string) => new TextEncoder().encode(source);
const of = (...sections: readonly Bytes[]) => moduleOf(sections);

/** `() -> ()`, and one function of that type. */
const TYPES = section(1, [1, 0x60, 0, 0]);
const FUNCTION = section(3, [1, 0]);
const BODY = section(10, [1, 2, 0, 0x0b]);
const TABLE = section(4, [1, 0x70, 0, 1]);
const MEMORY = section(5, [1, 0, 1]);
const IMPORTED_GLOBAL = (mutable: number) => section(2, [1, 0, 0, 3, 0x7f, mutable]);

describe('readModule() names the format of a file that is not a module', () => {
  it.each([
    ['an empty file', raw(), /does not begin with "\\0asm"/, 0],
    ['a file cut off in its magic', raw(0x00, 0x61, 0x73), /does not begin/, 0],
    ['a file cut off in its version', raw(...HEADER.slice(0, 7)), /version is not known/, 4],
    [
      'another version',
      raw(...HEADER.slice(0, 4), 2, 0, 0, 0),
      /version is not known, expected version 1/,
      4,
    ],
    [
      'a component',
      raw(...HEADER.slice(0, 4), 0x0d, 0, 1, 0),
      /this is a component, expected a core module/,
      4,
    ],
    ['text', text('(module (func))'), /this is the text format, expected a binary module/, 0],
    ['text after space', text('\n  (module)'), /this is the text format/, 0],
    ['text after a comment', text(';; hello\n(module)'), /this is the text format/, 0],
    ['an ELF file', raw(0x7f, 0x45, 0x4c, 0x46), /does not begin/, 0],
  ])('%s', (_what, bytes, message, offset) => {
    expect(refusal(bytes)).toMatchObject({
      code: 'malformed',
      offset,
      message: expect.stringMatching(message),
    });
  });
});

describe('readModule() refuses as malformed, with the byte that is wrong,', () => {
  it.each<[string, Uint8Array<ArrayBuffer>, number]>([
    ['a section that is cut off after its id', of([1]), 9],
    ['a section past the end', of([1, 5, 0]), 10],
    ['a section of 4 GiB', of([1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]), 14],
    ['a section size of six bytes', of([1, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 0]), 13],
    ['a section with a byte too many', of(section(1, [0, 0])), 11],
    ['a section that is too short for what it holds', of(section(1, [1, 0x60, 1])), 10],
    ['a section that would read on in the next one', of([1, 3, 1, 0x60, 0], [0, 1, 0]), 10],
    ['an unknown section', of(section(15, [0])), 8],
    ['a section twice', of(TYPES, TYPES), 14],
    ['sections out of order', of(FUNCTION, TYPES), 12],
    ['the data count behind the code', of(section(10, [0]), section(12, [0])), 11],
    ['a custom section without a name', of([0, 0]), 10],
    ['a custom section with a name past its end', of([0, 1, 5], TYPES), 11],
    ['a custom section with a name that is not text', of([0, 2, 1, 0xff]), 11],
    ['a type of an unknown form', of(section(1, [1, 0x61, 0, 0])), 11],
    ['a parameter of an unknown type', of(section(1, [1, 0x60, 1, 0x40, 0])), 13],
    ['an import of an unknown kind', of(section(2, [1, 0, 0, 5, 0])), 13],
    ['an import of a function without its type', of(section(2, [1, 0, 0, 0, 0])), 14],
    ['an import with a name that is not text', of(section(2, [1, 1, 0xff, 0, 3, 0x7f, 0])), 12],
    ['a function of a type that does not exist', of(TYPES, section(3, [1, 1])), 17],
    ['a table of numbers', of(section(4, [1, 0x7f, 0, 0])), 11],
    ['a table with a maximum below its minimum', of(section(4, [1, 0x70, 1, 2, 1])), 12],
    ['a memory with a maximum below its minimum', of(section(5, [1, 1, 2, 1])), 11],
    ['a memory of more than 4 GiB', of(section(5, [1, 0, 0x81, 0x80, 0x04])), 11],
    ['a memory that may grow past 4 GiB', of(section(5, [1, 1, 0, 0x81, 0x80, 0x04])), 11],
    ['a memory with unknown flags', of(section(5, [1, 0x10, 0])), 11],
    ['a global that is neither mutable nor not', of(section(6, [1, 0x7f, 4, 0x41, 0, 0x0b])), 12],
    ['a global of another type than its value', of(section(6, [1, 0x7f, 0, 0x42, 0, 0x0b])), 13],
    ['a global without a value', of(section(6, [1, 0x7f, 0, 0x0b, 0])), 13],
    ['a global with two values', of(section(6, [1, 0x7f, 0, 0x41, 0, 0x41, 0, 0x0b])), 13],
    ['a value that has no end', of(section(6, [1, 0x7f, 0, 0x41, 0])), 15],
    ['a value that is computed by a call', of(section(6, [1, 0x7f, 0, 0x10, 0, 0x0b])), 13],
    ['a value made of nothing', of(section(6, [1, 0x7f, 0, 0x41, 0, 0x6a, 0x0b])), 15],
    ['a sum of a long and a short', of(section(6, [1, 0x7f, 0, 0x42, 0, 0x41, 0, 0x6a, 0x0b])), 17],
    ['a sum of a short and a long', of(section(6, [1, 0x7f, 0, 0x41, 0, 0x42, 0, 0x6a, 0x0b])), 17],
    ['a null of a type that only looks like one', of(section(6, [1, 0x70, 0, 0xd0, 0xf0, 0x7e, 0x0b])), 14],
    [
      'a value from a global that changes',
      of(IMPORTED_GLOBAL(1), section(6, [1, 0x7f, 0, 0x23, 0, 0x0b])),
      22,
    ],
    ['a value from a global to come', of(section(6, [1, 0x7f, 0, 0x23, 0, 0x0b])), 14],
    ['a value from a function that does not exist', of(section(6, [1, 0x70, 0, 0xd2, 0, 0x0b])), 14],
    ['a vector operator as a value', of(section(6, [1, 0x7b, 0, 0xfd, 0x0d, 0x0b])), 13],
    ['an export of what does not exist', of(section(7, [1, 0, 2, 0])), 13],
    ['an export of an unknown kind', of(section(7, [1, 0, 5, 0])), 12],
    ['two exports of one name', of(MEMORY, section(7, [2, 1, 0x61, 2, 0, 1, 0x61, 2, 0])), 20],
    ['a start function that does not exist', of(TYPES, section(8, [0])), 16],
    [
      'a start function with a result',
      of(section(1, [1, 0x60, 0, 1, 0x7f]), FUNCTION, section(8, [0]), section(10, [1, 4, 0, 0x41, 0, 0x0b])),
      21,
    ],
    ['an element segment with unknown flags', of(TABLE, section(9, [1, 8, 0, 0])), 17],
    ['an element segment without a table', of(section(9, [1, 0, 0x41, 0, 0x0b, 0])), 12],
    ['an element segment for a table that does not exist', of(TABLE, section(9, [1, 2, 1, 0, 0, 0])), 18],
    ['an element segment of an unknown kind', of(section(9, [1, 1, 1, 0])), 12],
    ['an element segment with a function that does not exist', of(section(9, [1, 1, 0, 1, 0])), 14],
    [
      'an element segment of another type than its table',
      of(section(4, [1, 0x6f, 0, 1]), section(9, [1, 0, 0x41, 0, 0x0b, 0])),
      17,
    ],
    ['an element of another type than its segment', of(section(9, [1, 5, 0x70, 1, 0xd0, 0x6f, 0x0b])), 14],
    ['a data count and no data', of(section(12, [1])), 11],
    ['a data count and other data', of(section(12, [2]), section(11, [1, 1, 0])), 13],
    ['a data segment with unknown flags', of(MEMORY, section(11, [1, 3, 0])), 16],
    ['a data segment without a memory', of(section(11, [1, 0, 0x41, 0, 0x0b, 0])), 12],
    [
      'a data segment for a memory that does not exist',
      of(MEMORY, section(11, [1, 2, 1, 0x41, 0, 0x0b, 0])),
      17,
    ],
    ['a data segment past its section', of(section(11, [1, 1, 5, 0])), 13],
    ['functions and no code', of(TYPES, FUNCTION), 18],
    ['code and no functions', of(BODY), 10],
    ['fewer bodies than functions', of(TYPES, section(3, [2, 0, 0]), BODY), 21],
    ['a body without anything', of(TYPES, FUNCTION, section(10, [1, 0, 0, 0])), 21],
    [
      'a body of its end alone',
      of(TYPES, section(3, [2, 0, 0]), section(10, [2, 1, 0x0b, 4, 0, 1, 1, 0x0b])),
      22,
    ],
    ['a body past its section', of(TYPES, FUNCTION, section(10, [1, 9, 0, 0x0b])), 22],
    ['a body without an end', of(TYPES, FUNCTION, section(10, [1, 3, 0, 0x0b, 0x01])), 24],
  ])('%s', (_what, bytes, offset) => {
    // The positive control: the reader is not alone with its opinion.
    expect(WebAssembly.validate(bytes)).toBe(false);
    expect(refusal(bytes)).toMatchObject({ code: 'malformed', offset });
  });

  it('what it never repeats at length: the message stays short whatever the module says', () => {
    const long = Array.from({ length: 9_000 }, () => 0x61);
    const twice = [0xa8, 0x46, ...long, 2, 0];
    const { message } = refusal(of(MEMORY, section(7, [2, ...twice, ...twice])));
    expect(message.length).toBeLessThan(200);
  });
});

describe('readModule() refuses by name', () => {
  const value = (...code: Bytes) => section(6, [1, 0x7f, 0, ...code, 0x0b]);
  it.each<[string, string, Uint8Array, number]>([
    ['threads', 'a shared memory', of(section(5, [1, 3, 1, 1])), 11],
    ['threads', 'an imported shared memory', of(section(2, [1, 0, 0, 2, 3, 1, 1])), 14],
    ['shared-everything', 'a shared table', of(section(4, [1, 0x70, 3, 1, 1])), 12],
    ['shared-everything', 'a shared global', of(section(6, [1, 0x7f, 2, 0x41, 0, 0x0b])), 12],
    ['memory64', 'a memory of 64 bits', of(section(5, [1, 4, 0])), 11],
    ['memory64', 'a table of 64 bits', of(section(4, [1, 0x70, 5, 0, 1])), 12],
    ['custom-page-sizes', 'a memory with its own pages', of(section(5, [1, 8, 1, 0])), 11],
    ['exceptions', 'a tag', of(TYPES, section(13, [1, 0, 0])), 14],
    ['exceptions', 'an imported tag', of(TYPES, section(2, [1, 0, 0, 4, 0, 0])), 19],
    ['exceptions', 'an exported tag', of(section(7, [1, 0, 4, 0])), 12],
    ['exceptions', 'an exnref', of(section(1, [1, 0x60, 1, 0x69, 0])), 13],
    ['gc', 'a structure', of(section(1, [1, 0x5f, 0, 0])), 11],
    ['gc', 'a group of types', of(section(1, [1, 0x4e, 1, 0x60, 0, 0])), 11],
    ['gc', 'an anyref', of(section(1, [1, 0x60, 1, 0x6e, 0])), 13],
    ['gc', 'a value on the heap', of(value(0x41, 0, 0xfb, 0x1c)), 15],
    [
      'gc',
      'a value from a global of its own',
      of(section(6, [2, 0x7f, 0, 0x41, 0, 0x0b, 0x7f, 0, 0x23, 0, 0x0b])),
      19,
    ],
    ['function-references', 'a typed reference', of(section(1, [1, 0x60, 1, 0x63, 0x70, 0])), 13],
    ['function-references', 'a typed null', of(section(6, [1, 0x70, 0, 0xd0, 0, 0x0b])), 14],
    [
      'function-references',
      'a table with a first value',
      of(section(4, [1, 0x40, 0, 0x70, 0, 0, 0xd0, 0x70, 0x0b])),
      11,
    ],
    ['stack-switching', 'a continuation', of(section(1, [1, 0x5d, 0, 0])), 11],
    ['stringref', 'a string', of(section(14, [0])), 8],
  ])('%s: %s', (detail, _what, bytes, offset) => {
    expect(refusal(bytes)).toMatchObject({ code: 'feature', detail, offset });
  });

  it('a feature that this V8 lacks, or reads it', () => {
    const sum = of(value(0x41, 1, 0x41, 2, 0x6a));
    const two = of(section(5, [2, 0, 0, 0, 0]));
    if (hasExtendedConstants)
      expect([...readModule(sum, DEFAULT_LIMITS).features]).toEqual(['extended-constants']);
    else expect(refusal(sum)).toMatchObject({ code: 'feature', detail: 'extended-constants' });
    if (WebAssembly.validate(two))
      expect([...readModule(two, DEFAULT_LIMITS).features]).toEqual(['multi-memory']);
    else expect(refusal(two)).toMatchObject({ code: 'feature', detail: 'multi-memory' });
  });

  it('nothing of what stands in custom sections', () => {
    const hints = of(custom('metadata.code.branch_hint', [1]), custom('dylink.0', [0xff]));
    expect(readModule(hints, DEFAULT_LIMITS).sections).toHaveLength(2);
  });
});
