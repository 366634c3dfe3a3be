/**
 * Modules made to exhaust what reads, rewrites or compiles them. Each has a harmless sibling that passes, so that a
 * refusal is about the bomb and about nothing else in the module.
 */
import { describe, expect, it } from 'vitest';
import { sample } from '../../../../tests/volume/volume.ts';
import { CEILINGS, DEFAULT_LIMITS as L } from '../../src/limits.ts';
import { meter } from '../../src/meter/meter.ts';
import {
  assemble,
  type Bytes,
  body,
  custom,
  data,
  elements,
  join,
  type Locals,
  moduleOf,
  name,
  op,
  section,
  tile,
} from '../fixture/builder.ts';
import { hasMultiMemory } from '../fixture/features.ts';
import { unsigned } from '../fixture/leb.ts';
import { FUNCREF, I32, I64 } from '../fixture/opcodes.ts';
import { refusalOf } from '../fixture/refusal.ts';

type Binary = Uint8Array<ArrayBuffer>;
type Bomb = {
  readonly bomb: () => Binary;
  readonly sibling: () => Binary;
  readonly refusal: { readonly code: string | RegExp; readonly detail?: string };
};

const NOTHING = { params: [], results: [] };

/** A module with one function of this code. */
function running(code: Bytes, locals: Locals = []): Binary {
  return assemble({ types: [NOTHING], functions: [{ type: 0, locals, code }] });
}

/** The same for code that is too long to be spread. */
function runningMany(pieces: readonly ArrayLike<number>[], locals: Bytes = [0]): Binary {
  const code = join([locals, ...pieces, [0x0b]]);
  const size = unsigned(code.length);
  const head = [10, ...unsigned(1 + size.length + code.length), 1, ...size];
  return moduleOf([section(1, [1, 0x60, 0, 0]), section(3, [1, 0]), head, code]);
}

/** A section of many equal entries. */
function crowd(id: number, count: number, entry: Bytes): ArrayLike<number>[] {
  const number = unsigned(count);
  return [[id, ...unsigned(number.length + count * entry.length), ...number], tile(count, entry)];
}

/** Code of a section that holds these raw bodies. */
function bodies(...raw: readonly Bytes[]): Binary {
  const types = section(1, [1, 0x60, 0, 0]);
  return moduleOf([
    types,
    section(3, [raw.length, ...raw.map(() => 0)]),
    section(10, [raw.length, ...raw.flat()]),
  ]);
}

function nest(depth: number): Binary {
  return runningMany([tile(depth, op('block', undefined)), tile(depth, op('end'))]);
}

function ifs(locals: number, count: number): Binary {
  const one = [...op('i32.const', 0), ...op('if', undefined), ...op('end')];
  return runningMany([tile(count, one)], [1, ...unsigned(locals), I32]);
}

function table(targets: number): Binary {
  return runningMany([op('i32.const', 0), [0x0e, ...unsigned(targets)], tile(targets, [0]), [0]]);
}

function exporting(...names: readonly string[]): Binary {
  return assemble({
    types: [NOTHING],
    functions: [{ type: 0, code: [] }],
    exports: names.map((each) => ({ name: each, kind: 'function', index: 0 })),
  });
}

const raw = (...pieces: readonly Bytes[]) => moduleOf(pieces);
const limit = (detail: string) => ({ code: 'limit', detail });
const malformed = { code: 'malformed' };

const COUNTS: Readonly<Record<string, Bomb>> = {
  'a type section that says 4 billion': {
    bomb: () => raw(section(1, unsigned(0xffff_ffff))),
    sibling: () => raw(section(1, [0])),
    refusal: { code: /limit|malformed/ },
  },
  'one type more than allowed': {
    bomb: () => moduleOf([...crowd(1, L.types + 1, [0x60, 0, 0])]),
    sibling: () => moduleOf([...crowd(1, L.types, [0x60, 0, 0])]),
    refusal: limit('types'),
  },
  'a million types': {
    bomb: () => moduleOf(crowd(1, 1_000_000, [0x60, 0, 0])),
    sibling: () => moduleOf(crowd(1, 1_000, [0x60, 0, 0])),
    refusal: limit('types'),
  },
  'a million functions': {
    bomb: () =>
      moduleOf([
        section(1, [1, 0x60, 0, 0]),
        ...crowd(3, 1_000_000, [0]),
        ...crowd(10, 1_000_000, [2, 0, 11]),
      ]),
    sibling: () =>
      moduleOf([section(1, [1, 0x60, 0, 0]), ...crowd(3, 9_999, [0]), ...crowd(10, 9_999, [2, 0, 11])]),
    refusal: limit('functions'),
  },
  'a run of 4 billion locals': {
    bomb: () => bodies([8, 1, ...unsigned(0xffff_ffff), I32, 0x0b]),
    sibling: () => bodies([4, 1, 3, I32, 0x0b]),
    refusal: limit('locals'),
  },
  'runs of locals that add up past 32 bits': {
    bomb: () => bodies([14, 2, ...unsigned(0xffff_ffff), I32, ...unsigned(2), I32, 0x0b, 0x0b, 0x0b, 0x0b]),
    sibling: () => bodies([6, 2, 2, I32, 2, I64, 0x0b]),
    refusal: { code: /limit|malformed/ },
  },
  'more runs of locals than bytes': {
    bomb: () => bodies([6, ...unsigned(0x0fff_ffff), 0x0b, 0x0b]),
    sibling: () => bodies([2, 0, 0x0b]),
    refusal: { code: /limit|malformed/ },
  },
  'one local more than allowed': {
    bomb: () => running([], [[L.locals + 1, I32]]),
    sibling: () => running([], [[L.locals, I32]]),
    refusal: limit('locals'),
  },
  'one global more than allowed': {
    bomb: () => moduleOf([...crowd(6, L.globals + 1, [I32, 0, 0x41, 0, 0x0b])]),
    sibling: () => moduleOf([...crowd(6, L.globals, [I32, 0, 0x41, 0, 0x0b])]),
    refusal: limit('globals'),
  },
  'one segment of data more than allowed': {
    bomb: () =>
      moduleOf([section(12, unsigned(L.dataSegments + 1)), ...crowd(11, L.dataSegments + 1, [1, 0])]),
    sibling: () => moduleOf([section(12, unsigned(L.dataSegments)), ...crowd(11, L.dataSegments, [1, 0])]),
    refusal: limit('dataSegments'),
  },
  'one custom section more than allowed': {
    bomb: () => moduleOf([tile(L.customSections + 1, custom('x', []))]),
    sibling: () => moduleOf([tile(L.customSections, custom('x', []))]),
    refusal: limit('customSections'),
  },
  'a file above the limit': {
    bomb: () => moduleOf([[0, ...unsigned(33 * 2 ** 20), 1, 0x78], new Uint8Array(33 * 2 ** 20 - 2)]),
    sibling: () => moduleOf([[0, ...unsigned(2 + 2 ** 20), 1, 0x78], new Uint8Array(2 ** 20)]),
    refusal: limit('moduleBytes'),
  },
};

const CODE: Readonly<Record<string, Bomb>> = {
  'blocks nested 100,000 deep': {
    bomb: () => nest(100_000),
    sibling: () => nest(L.nesting),
    refusal: limit('nesting'),
  },
  'blocks nested 500,000 deep': {
    bomb: () => nest(500_000),
    sibling: () => nest(10),
    refusal: limit('functionBytes'),
  },
  'locals times ifs': {
    bomb: () => ifs(L.locals, L.functionWeight / L.locals + 1),
    sibling: () => ifs(L.locals, L.functionWeight / L.locals - 10),
    refusal: limit('functionWeight'),
  },
  'a branch table of a million targets': {
    bomb: () => table(1_000_000),
    sibling: () => table(65_000),
    refusal: limit('branchTargets'),
  },
  'a branch table that says 4 billion': {
    bomb: () => running([...op('i32.const', 0), 0x0e, ...unsigned(0xffff_ffff), 0]),
    sibling: () => running([...op('i32.const', 0), 0x0e, 1, 0, 0]),
    refusal: { code: /limit|malformed/ },
  },
  'many branch tables in one function': {
    bomb: () =>
      runningMany([tile(200, [...op('i32.const', 0), ...op('br_table', ...new Array(1_000).fill(0))])]),
    sibling: () =>
      runningMany([tile(20, [...op('i32.const', 0), ...op('br_table', ...new Array(1_000).fill(0))])]),
    refusal: limit('branchTargets'),
  },
  'a function longer than allowed': {
    bomb: () => runningMany([tile(L.functionBytes, op('nop'))]),
    sibling: () => runningMany([tile(L.functionBytes - 2, op('nop'))]),
    refusal: limit('functionBytes'),
  },
  'a body that ends in the middle of a block': {
    bomb: () => running([...op('block', undefined)]),
    sibling: () => running([...op('block', undefined), ...op('end')]),
    refusal: { code: /malformed|invalid/ },
  },
  'code after the end of a function': {
    bomb: () => running([...op('end'), ...op('nop')]),
    sibling: () => running([...op('nop')]),
    refusal: { code: /malformed|invalid/ },
  },
  'an else without an if': {
    bomb: () => running([...op('block', undefined), ...op('else'), ...op('end')]),
    sibling: () => running([...op('i32.const', 0), ...op('if', undefined), ...op('else'), ...op('end')]),
    refusal: { code: /malformed|invalid/ },
  },
  'a branch out of the function': {
    bomb: () => running(op('br', 1)),
    sibling: () => running(op('br', 0)),
    refusal: { code: /malformed|invalid/ },
  },
};

const BYTES: Readonly<Record<string, Bomb>> = {
  'a number of six bytes': {
    bomb: () => raw([1, 0x80, 0x80, 0x80, 0x80, 0x80, 0]),
    sibling: () => raw([1, 0x81, 0x80, 0x80, 0x80, 0, 0]),
    refusal: malformed,
  },
  'a number of five bytes with more than 32 bits': {
    bomb: () => raw([1, 0x81, 0x80, 0x80, 0x80, 0x10, 0]),
    sibling: () => raw([1, 0x81, 0x80, 0x80, 0x80, 0x00, 0]),
    refusal: malformed,
  },
  'a constant of six bytes': {
    bomb: () => running([0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0, ...op('drop')]),
    sibling: () => running([0x41, 0x80, 0x80, 0x80, 0x80, 0, ...op('drop')]),
    refusal: malformed,
  },
  'a long constant of eleven bytes': {
    bomb: () => running([0x42, ...new Array(10).fill(0x80), 0, ...op('drop')]),
    sibling: () => running([0x42, ...new Array(9).fill(0x80), 0, ...op('drop')]),
    refusal: malformed,
  },
  'a section that reaches into the next one': {
    bomb: () => raw([1, 6, 1, 0x60, 0, 0], section(3, [0])),
    sibling: () => raw([1, 4, 1, 0x60, 0, 0], section(3, [0])),
    refusal: malformed,
  },
  'a section that reaches past the file': {
    bomb: () => raw([1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0x60, 0, 0]),
    sibling: () => raw([1, 4, 1, 0x60, 0, 0]),
    refusal: malformed,
  },
  'a body that reaches into the next one': {
    bomb: () => bodies([5, 0, 0x0b], [2, 0, 0x0b]),
    sibling: () => bodies([2, 0, 0x0b], [2, 0, 0x0b]),
    refusal: malformed,
  },
  'a body that is shorter than its code': {
    bomb: () => bodies([2, 0, 0x41, 0, 0x1a, 0x0b]),
    sibling: () => bodies([5, 0, 0x41, 0, 0x1a, 0x0b]),
    refusal: malformed,
  },
  'two sections of one kind': {
    bomb: () => raw(section(1, [0]), section(1, [0])),
    sibling: () => raw(section(1, [0]), section(3, [0])),
    refusal: malformed,
  },
  'sections in another order': {
    bomb: () => raw(section(3, [0]), section(1, [0])),
    sibling: () => raw(section(1, [0]), section(3, [0])),
    refusal: malformed,
  },
  'a segment of data that ends past the file': {
    bomb: () => raw(section(5, [1, 0, 1]), section(11, [1, 0, 0x41, 0, 0x0b, 100, 1, 2, 3])),
    sibling: () => raw(section(5, [1, 0, 1]), section(11, [1, 0, 0x41, 0, 0x0b, 3, 1, 2, 3])),
    refusal: malformed,
  },
  'an element that is not a function': {
    bomb: () =>
      assemble({ tables: [{ reference: FUNCREF, min: 9 }], elements: [elements.active(0, 0, [7])] }),
    sibling: () =>
      assemble({ tables: [{ reference: FUNCREF, min: 9 }], elements: [elements.active(0, 0, [])] }),
    refusal: malformed,
  },
  'two exports of one name': {
    bomb: () => exporting('a', 'a'),
    sibling: () => exporting('a', 'b'),
    refusal: malformed,
  },
  'an export with a name of the meter': {
    bomb: () => exporting('palisade:set'),
    sibling: () => exporting('palisade'),
    refusal: malformed,
  },
  'a name of 20 KB': {
    bomb: () => exporting('n'.repeat(20_000)),
    sibling: () => exporting('n'.repeat(16_000)),
    refusal: limit('nameBytes'),
  },
  'a name that is not UTF-8': {
    bomb: () => raw(section(0, [2, 0xc3, 0x28])),
    sibling: () => raw(section(0, [2, 0xc3, 0xa4])),
    refusal: malformed,
  },
  'a custom section that is shorter than its name': {
    bomb: () => raw(section(0, [9, 0x61])),
    sibling: () => raw(section(0, [1, 0x61])),
    refusal: malformed,
  },
  'text instead of a module': {
    bomb: () => new TextEncoder().encode('(module (func (export "run")))'),
    sibling: () => raw(),
    refusal: malformed,
  },
  'a component instead of a module': {
    bomb: () => Uint8Array.from([0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]),
    sibling: () => raw(),
    refusal: malformed,
  },
  'no bytes at all': { bomb: () => new Uint8Array(), sibling: () => raw(), refusal: malformed },
};

const SPACE: Readonly<Record<string, Bomb>> = {
  'a memory of 65,536 pages': {
    bomb: () => assemble({ memories: [{ min: 65_536 }] }),
    sibling: () => assemble({ memories: [{ min: 1_024 }] }),
    refusal: limit('memoryBytes'),
  },
  'several memories that are each within the limit': {
    bomb: () => assemble({ memories: [{ min: 1_000 }, { min: 1_000 }] }),
    sibling: () => assemble({ memories: hasMultiMemory ? [{ min: 500 }, { min: 500 }] : [{ min: 1_000 }] }),
    refusal: limit('memoryBytes'),
  },
  'a table of 10 million': {
    bomb: () => assemble({ tables: [{ reference: FUNCREF, min: 10_000_000 }] }),
    sibling: () => assemble({ tables: [{ reference: FUNCREF, min: 100_000 }] }),
    refusal: limit('tableElements'),
  },
  'several tables that are each within the limit': {
    bomb: () => assemble({ tables: [1, 2].map(() => ({ reference: FUNCREF, min: 60_000 })) }),
    sibling: () => assemble({ tables: [1, 2].map(() => ({ reference: FUNCREF, min: 50_000 })) }),
    refusal: limit('tableElements'),
  },
  'data for a memory that is not there': {
    bomb: () => assemble({ data: [data.active(0, 0, [1])] }),
    sibling: () => assemble({ memories: [{ min: 1 }], data: [data.active(0, 0, [1])] }),
    refusal: malformed,
  },
};

/** The limits of a memory with these flags. */
const memoryOf = (...bytes: Bytes) => moduleOf([section(5, [1, ...bytes])]);
const typesOf = (...bytes: Bytes) => moduleOf([section(1, [1, ...bytes])]);

/** Features outside the gate: their name, modules that use them, and how the same module looks without them. */
const REFUSED: readonly (readonly [feature: string, what: string, bomb: Binary, sibling: Binary])[] = [
  ['threads', 'a shared memory', memoryOf(3, 1, 1), memoryOf(1, 1, 1)],
  [
    'threads',
    'an atomic load',
    running([...op('i32.const', 0), 0xfe, 0x10, 2, 0, ...op('drop')]),
    running([]),
  ],
  ['threads', 'a fence', running([0xfe, 3, 0]), running([])],
  [
    'exceptions',
    'a section of tags',
    moduleOf([section(1, [1, 0x60, 0, 0]), section(13, [1, 0, 0])]),
    typesOf(0x60, 0, 0),
  ],
  ['exceptions', 'try', running([0x06, 0x40, 0x0b]), running([0x02, 0x40, 0x0b])],
  ['exceptions', 'try_table', running([0x1f, 0x40, 0, 0x0b]), running([0x02, 0x40, 0x0b])],
  ['exceptions', 'throw', running([0x08, 0]), running(op('unreachable'))],
  ['gc', 'a struct type', typesOf(0x5f, 1, I32, 0), typesOf(0x60, 0, 0)],
  ['gc', 'an array type', typesOf(0x5e, I32, 0), typesOf(0x60, 0, 0)],
  ['gc', 'types that know each other', typesOf(0x4e, 1, 0x60, 0, 0), typesOf(0x60, 0, 0)],
  ['gc', 'ref.i31', running([...op('i32.const', 0), 0xfb, 0x1c, ...op('drop')]), running([])],
  ['function-references', 'call_ref', running([...op('ref.null', FUNCREF), 0x14, 0]), running([])],
  ['function-references', 'a typed reference', typesOf(0x60, 1, 0x63, 0x70, 0), typesOf(0x60, 1, 0x70, 0)],
  ['memory64', 'a memory of 64 bits', memoryOf(4, 1), memoryOf(0, 1)],
  ['custom-page-sizes', 'a memory of small pages', memoryOf(8, 1, 0), memoryOf(0, 1)],
  ['relaxed-simd', 'a relaxed swizzle', running([0xfd, 0x80, 0x02]), running([])],
  ['wide-arithmetic', 'an addition of 128 bits', running([0xfc, 0x13]), running([])],
  ['stack-switching', 'a continuation', running([0xe0, 0]), running([])],
];

function judge({ bomb, sibling, refusal }: Bomb): void {
  const harmless = sibling();
  expect(refusalOf(() => meter(harmless))).toBeUndefined();
  for (const form of ['local', 'thread'] as const) {
    const found = refusalOf(() => meter(bomb(), { form }));
    expect(found?.code).toMatch(refusal.code);
    if (refusal.detail !== undefined) expect(found?.detail).toBe(refusal.detail);
    if (found?.code === 'malformed') expect(found.offset).toBeTypeOf('number');
  }
}

describe('meter() refuses', () => {
  it.each(Object.entries({ ...COUNTS, ...CODE }))('%s', (_what, bomb) => judge(bomb));
  it.each(Object.entries({ ...BYTES, ...SPACE }))('%s', (_what, bomb) => judge(bomb));
});

describe('meter() refuses by name', () => {
  it.each(REFUSED)('%s: %s', (feature, _what, bomb, sibling) => {
    expect(refusalOf(() => meter(sibling))).toBeUndefined();
    const refusal = refusalOf(() => meter(bomb));
    expect(refusal).toMatchObject({ code: 'feature', detail: feature });
    expect(refusal?.offset).toBeTypeOf('number');
  });
});

describe('at the ceilings, meter() gives a valid module or refuses', () => {
  const types = section(1, [1, 0x60, 0, 0]);
  const one = [section(3, [1, 0]), section(10, [1, 2, 0, 0x0b])] as const;
  const exports = Array.from({ length: CEILINGS.exports }, (_, at) => [...name(at.toString(36)), 0, 0]);
  const loops = tile(CEILINGS.functionBytes / 20, [
    ...op('loop', undefined),
    ...op('i32.const', 0),
    ...op('br_if', 0),
    0x0b,
  ]);
  const cases: Readonly<Record<string, () => Binary>> = {
    types: () => moduleOf([...crowd(1, CEILINGS.types, [0x60, 0, 0]), ...one]),
    functions: () =>
      moduleOf([types, ...crowd(3, CEILINGS.functions, [0]), ...crowd(10, CEILINGS.functions, [2, 0, 0x0b])]),
    globals: () => moduleOf([types, one[0], ...crowd(6, CEILINGS.globals, [I32, 0, 0x41, 0, 0x0b]), one[1]]),
    imports: () => moduleOf([types, ...crowd(2, CEILINGS.imports, [0, 0, 0, 0]), section(5, [1, 0, 1])]),
    exports: () => {
      const content = join([unsigned(exports.length), ...exports]);
      return moduleOf([types, one[0], [7, ...unsigned(content.length)], content, one[1]]);
    },
    params: () => {
      const shape = {
        params: new Array(CEILINGS.params).fill(I32),
        results: new Array(CEILINGS.results).fill(I32),
      };
      const all = shape.params.flatMap((_, at) => op('local.get', at));
      return assemble({
        types: [shape],
        functions: [
          { type: 0, code: all },
          { type: 0, code: [...all, ...op('call', 0)] },
        ],
        exports: [{ name: 'run', kind: 'function', index: 1 }],
      });
    },
    functionBytes: () => runningMany([loops]),
  };
  it.each(sample(Object.entries(cases), 2))('%s', (_what, make) => {
    const bytes = make();
    expect(WebAssembly.validate(bytes)).toBe(true);
    for (const form of ['local', 'thread'] as const) {
      const refusal = refusalOf(() => {
        const metered = meter(bytes, { form, memories: 'import', limits: CEILINGS });
        expect(WebAssembly.validate(metered.bytes)).toBe(true);
      });
      expect(refusal?.code ?? 'limit').toBe('limit');
    }
  });
});

it('meter() takes a body as long as it says, whatever its length is written in', () => {
  const long = [...body({ code: op('nop') })];
  expect(long).toEqual([3, 0, 1, 0x0b]);
  const padded = [0x83, 0x80, 0x80, 0x80, 0x00, ...long.slice(1)];
  expect(refusalOf(() => meter(bodies(padded)))).toBeUndefined();
});
