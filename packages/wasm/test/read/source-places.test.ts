import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hasSourcePlaces,
  sourcePlaces,
  withoutSourcePlaces,
  withSourceMap,
} from '../../src/read/source-places.ts';
import { custom, name } from '../fixture/builder.ts';
import { signed, unsigned } from '../fixture/leb.ts';
import { wat } from '../fixture/wat.ts';

/* Line tables as compilers write them, by hand; those of compilers are tried in tests/scenarios/skill-traps.test.ts. */

const MODULE = wat(
  '(module (func (export "f") (nop) (nop) (nop) (unreachable)) (func (export "g") (nop) (unreachable)))',
);
/** Where the contents of the code section begin, and the bytes in it that the tests ask for. */
const CODE = MODULE.findIndex((_, at) => at > 8 && MODULE[at] === 10 && MODULE[at + 2] === 2) + 2;
const at = (...addresses: number[]) => addresses.map((address) => CODE + address);

const u16 = (value: number) => [value & 255, value >> 8];
const u32 = (value: number) => [...u16(value & 0xffff), ...u16(value >>> 16)];
const text = (value: string) => [...Buffer.from(value), 0];
const OPERANDS = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];

/** From address 2: line 10 for two bytes, line 14 for two; then the end. The last line is in the second file. */
const PROGRAM = [
  ...[0, 5, 2, ...u32(2), 3, ...signed(9), 1, 5, 7, 2, ...unsigned(2), 3, ...signed(4), 1],
  ...[4, 2, 9, ...u16(2), 1, 2, ...unsigned(1), 0, 1, 1],
];

function unit(version: number, tables: readonly number[], program: readonly number[] = PROGRAM): number[] {
  const rest = [1, ...(version >= 4 ? [1] : []), 1, 0xfb, 14, 13, ...OPERANDS, ...tables];
  const content = [
    ...u16(version),
    ...(version === 5 ? [4, 0] : []),
    ...u32(rest.length),
    ...rest,
    ...program,
  ];
  return [...u32(content.length), ...content];
}

const OLD = [...text('src'), 0, ...text('skill.c'), 1, 0, 0, ...text('own.h'), 0, 0, 0, 0];
const NEW = [
  ...[1, 1, 0x1f, 2, ...u32(0), ...u32(6)],
  ...[3, 1, 0x08, 2, 0x0b, 5, 0x1e, 3],
  ...[...text('main.c'), 0, ...Array(16).fill(7)],
  ...[...text('skill.c'), 1, ...Array(16).fill(7)],
  ...[...text('own.h'), 0, ...Array(16).fill(7)],
];
const STRINGS = [...text('/work'), ...text('/work/src')];

const withLines = (units: readonly number[], ...more: readonly (readonly number[])[]) =>
  new Uint8Array([...MODULE, ...custom('.debug_line', units), ...more.flat()]);

describe('sourcePlaces() of a line table', () => {
  it.each([
    ['DWARF 2', withLines(unit(2, OLD))],
    ['DWARF 4', withLines(unit(4, OLD))],
    ['DWARF 5', withLines(unit(5, NEW), custom('.debug_line_str', STRINGS))],
    ['a unit behind one that is malformed', withLines([...unit(9, OLD), ...unit(4, [1]), ...unit(3, OLD)])],
  ])('finds the file and the line of each address, in %s', (_, bytes) => {
    expect(sourcePlaces(bytes, at(1, 2, 3, 4, 5, 6, 7))).toEqual([
      null,
      { file: 'src/skill.c', line: 10 },
      { file: 'src/skill.c', line: 10 },
      { file: 'src/skill.c', line: 14 },
      { file: 'src/skill.c', line: 14 },
      { file: 'own.h', line: 14 },
      null,
    ]);
  });

  it('knows special opcodes', () => {
    // 13 + 14 * 2 + (1 + 5): two bytes and one line on.
    const special = [0, 5, 2, ...u32(2), 1, 13 + 14 * 2 + 6, 8, 1, 0, 1, 1];
    expect(sourcePlaces(withLines(unit(4, OLD, special)), at(2, 4))).toEqual([
      { file: 'src/skill.c', line: 1 },
      { file: 'src/skill.c', line: 2 },
    ]);
  });

  it.each([
    ['of 64 bits', [...u32(0xffff_ffff), ...u32(9), ...u32(0)]],
    ['that is cut', unit(4, OLD).slice(0, 40)],
    ['with a file that it does not have', unit(4, OLD, [0, 5, 2, ...u32(2), 4, 77, 1, 2, 4, 1])],
    ['with billions of empty entries', unit(5, [0, ...unsigned(0xffff_fff0)])],
    ['with a form that is not known', unit(5, [1, 1, 0x70, 1])],
    ['with a path that is too long', unit(4, [0, ...text('x'.repeat(600)), 0, 0, 0, 0])],
  ])('gives nothing for a table %s', (_, lines) => {
    expect(sourcePlaces(withLines(lines), at(2))).toEqual([null]);
  });

  it('gives what it can of whatever bytes there are, and never throws', () => {
    const bytes = withLines([...unit(4, OLD), ...unit(5, NEW)], custom('.debug_line_str', STRINGS));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 6 }),
        fc.nat(bytes.length),
        (changes, end) => {
          const changed = bytes.slice(0, Math.max(1, end));
          for (const [place, byte] of changes) changed[place] = byte;
          expect(sourcePlaces(changed, at(2, 4, 900))).toHaveLength(3);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('sourcePlaces() of a source map', () => {
  const map = (mappings: string, sources: unknown = ['src/skill.ts', '~lib/x.ts']) =>
    JSON.stringify({ version: 3, sources, mappings });
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const vlq = (value: number): string => {
    const encode = (rest: number): string =>
      rest < 32 ? (digits[rest] ?? '') : (digits[32 + (rest % 32)] ?? '') + encode(Math.floor(rest / 32));
    return encode(value < 0 ? -2 * value + 1 : 2 * value);
  };
  const segment = (...fields: number[]) => fields.map(vlq).join('');

  it('finds the file and the line, and that before an instruction that the compiler added', () => {
    const [start = 0] = at(2);
    const mappings = [segment(start, 0, 41, 0), segment(2, 1, -40, 0), segment(1)].join(',');
    const bytes = withSourceMap(MODULE, map(mappings));
    expect(hasSourcePlaces(bytes)).toBe(true);
    expect(sourcePlaces(bytes, at(2, 3, 4, 5, 6))).toEqual([
      { file: 'src/skill.ts', line: 42 },
      { file: 'src/skill.ts', line: 42 },
      { file: '~lib/x.ts', line: 2 },
      { file: '~lib/x.ts', line: 2 },
      { file: '~lib/x.ts', line: 2 },
    ]);
    // Another function has no place of its own here.
    expect(sourcePlaces(bytes, [MODULE.length - 2])).toEqual([null]);
  });

  it.each([
    ['that is no JSON', '{'],
    ['that is null', 'null'],
    ['without mappings', '{"sources":[]}'],
  ])('is left out of a module where the compiler wrote one %s', (_, written) => {
    expect(withSourceMap(MODULE, written)).toEqual(MODULE);
  });

  it.each([
    ['sources that are no texts', map('AAAA', [7])],
    ['a source that it does not have', map('A+/////DAA')],
    ['digits that are none', map('A!AA')],
    ['a number without an end', map('ggggggggggggggggggggAAAA')],
  ])('gives nothing for a map with %s', (_, written) => {
    expect(sourcePlaces(withSourceMap(MODULE, written), at(2))).toEqual([null]);
  });

  it('gives nothing for a map elsewhere', () => {
    for (const url of ['./skill.wasm.map', 'https://example.org/map', 'data:application/json;base64,!!'])
      expect(
        sourcePlaces(new Uint8Array([...MODULE, ...custom('sourceMappingURL', name(url))]), at(2)),
      ).toEqual([null]);
  });

  it('gives what it can of whatever mappings there are, and never throws', () => {
    const mappings = fc.string({ unit: fc.constantFrom(...digits, ',', ';', '!'), maxLength: 80 });
    fc.assert(
      fc.property(mappings, fc.nat(200), (each, offset) => {
        expect(sourcePlaces(withSourceMap(MODULE, map(each)), [offset])).toHaveLength(1);
      }),
    );
  });
});

describe('withoutSourcePlaces()', () => {
  it('gives the module as it was, with its names', () => {
    const named = new Uint8Array([...MODULE, ...custom('name', [0, 2, ...name('m')])]);
    const debug = new Uint8Array([
      ...named,
      ...['.debug_line', '.debug_info', 'sourceMappingURL'].flatMap((each) => custom(each, [1, 2])),
    ]);
    expect(withoutSourcePlaces(debug)).toEqual(named);
    expect(hasSourcePlaces(withoutSourcePlaces(debug))).toBe(false);
    expect(withoutSourcePlaces(named)).toBe(named);
  });

  it('leaves what is no module as it is', () => {
    for (const bytes of [new Uint8Array(0), Uint8Array.of(1, 2, 3)])
      expect(withoutSourcePlaces(bytes)).toBe(bytes);
  });
});
