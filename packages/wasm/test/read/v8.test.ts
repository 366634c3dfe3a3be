import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { WasmError } from '../../src/error.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { inspectSections } from '../../src/read/facts.ts';
import { readModule } from '../../src/read/module.ts';
import {
  data,
  elements,
  imported,
  moduleOf,
  name,
  op,
  sectionsOf,
  sized,
  vector,
} from '../fixture/builder.ts';
import { EXTERNREF, F32, F64, FUNCREF, I32, I64, V128 } from '../fixture/opcodes.ts';

/** Small modules that use everything a section can say. */
const SEEDS: readonly (readonly number[][])[] = [
  [],
  sectionsOf({
    types: [
      { params: [I32, F64], results: [] },
      { params: [], results: [] },
    ],
    imports: [{ module: 'a', name: 'b', descriptor: imported.function(0) }],
    functions: [{ type: 1, code: op('nop') }],
    tables: [{ reference: FUNCREF, min: 2, max: 5 }],
    memories: [{ min: 1, max: 2 }],
    exports: [
      { name: 'run', kind: 'function', index: 1 },
      { name: 'é', kind: 'memory', index: 0 },
    ],
    start: 1,
    elements: [elements.active(0, 0, [0, 1])],
    data: [data.active(0, 8, [1, 2]), data.passive([3])],
    customs: [{ name: 'name', content: [1, ...sized(vector([[0, ...name('x')]]))] }],
  }),
  sectionsOf({
    types: [{ params: [], results: [I32, I64] }],
    imports: [
      { module: '', name: 'g', descriptor: imported.global({ type: I32, mutable: false }) },
      { module: '', name: 'm', descriptor: imported.global({ type: EXTERNREF, mutable: true }) },
      { module: '', name: 't', descriptor: imported.table({ reference: EXTERNREF, min: 0 }) },
      { module: '', name: 'y', descriptor: imported.memory({ min: 0, max: 9 }) },
    ],
    globals: [
      { type: I64, mutable: true, init: op('i64.const', -(2n ** 63n)) },
      { type: F32, mutable: false, init: op('f32.const', 1.5) },
      { type: F64, mutable: false, init: op('f64.const', 1.5) },
      { type: V128, mutable: false, init: [0xfd, 0x0c, ...Array.from({ length: 16 }, (_, at) => at)] },
      { type: FUNCREF, mutable: false, init: op('ref.null', FUNCREF) },
      { type: I32, mutable: false, init: op('global.get', 0) },
    ],
    tables: [{ reference: FUNCREF, min: 1 }],
    exports: [{ name: 'g', kind: 'global', index: 2 }],
    elements: [
      elements.declarative([]),
      elements.expressions(EXTERNREF, [op('ref.null', EXTERNREF), op('ref.null', EXTERNREF)]),
      [6, 1, ...op('global.get', 0), 0x0b, FUNCREF, 1, ...op('ref.null', FUNCREF), 0x0b],
      elements.active(1, 0, []),
    ],
    data: [data.active(0, 0, [])],
  }),
];

/** Bytes that mean something in many places. */
const byte = fc.oneof(
  fc.integer({ min: 0, max: 255 }),
  fc.constantFrom(
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    0x0b,
    0x23,
    0x41,
    0x60,
    0x6f,
    0x70,
    0x7b,
    0x7f,
    0x80,
    0xd0,
    0xd2,
    0xff,
  ),
);
const place = fc.nat(0xffff);

/** One thing that is done to a list of bytes; places are taken modulo its length. */
const edit = fc.oneof(
  fc.record({ act: fc.constant('set' as const), place, byte }),
  fc.record({ act: fc.constant('insert' as const), place, byte }),
  fc.record({ act: fc.constant('remove' as const), place, byte }),
  fc.record({ act: fc.constant('flip' as const), place, byte: fc.constantFrom(1, 2, 4, 8, 16, 32, 64, 128) }),
);
type Edit = typeof edit extends fc.Arbitrary<infer Value> ? Value : never;

function apply(bytes: readonly number[], { act, place, byte }: Edit): number[] {
  const at = place % (bytes.length + 1);
  const old = bytes[at] ?? 0;
  switch (act) {
    case 'set':
      return bytes.with(Math.min(at, bytes.length - 1), byte);
    case 'flip':
      return bytes.with(Math.min(at, bytes.length - 1), old ^ byte);
    case 'insert':
      return bytes.toSpliced(at, 0, byte);
    case 'remove':
      return bytes.toSpliced(at, 1);
  }
}

/** A section with a changed content and a size that fits it again, so that the change is found by what reads it. */
function changeInside(sections: readonly (readonly number[])[], which: number, change: Edit): number[][] {
  return sections.map((bytes, index) => {
    const [id, , ...content] = bytes;
    if (index !== which % sections.length || content.length === 0) return [...bytes];
    return [id ?? 0, ...sized(apply(content, change))];
  });
}

function changeOrder(sections: readonly (readonly number[])[], from: number, to: number): number[][] {
  const moved = sections[from % Math.max(1, sections.length)] ?? [];
  const rest = from % 3 === 0 ? sections : sections.toSpliced(from % Math.max(1, sections.length), 1);
  return rest.toSpliced(to % (rest.length + 1), 0, moved).map((bytes) => [...bytes]);
}

const mutants = fc
  .record({
    seed: fc.constantFrom(...SEEDS),
    inside: fc.array(fc.tuple(fc.nat(20), edit), { maxLength: 3 }),
    order: fc.option(fc.tuple(fc.nat(20), fc.nat(20)), { freq: 5 }),
    outside: fc.array(edit, { maxLength: 1 }),
  })
  .map(({ seed, inside, order, outside }) => {
    let sections: number[][] = seed.map((bytes) => [...bytes]);
    for (const [which, change] of inside) sections = changeInside(sections, which, change);
    if (order !== null) sections = changeOrder(sections, ...order);
    return new Uint8Array(outside.reduce(apply, [...moduleOf(sections)]));
  });

/** Why V8 does not take a module. */
function v8Says(bytes: Uint8Array<ArrayBuffer>): string {
  try {
    new WebAssembly.Module(bytes);
    return 'taken';
  } catch (error) {
    return String(error);
  }
}

function tryRead(bytes: Uint8Array) {
  try {
    return { module: readModule(bytes, DEFAULT_LIMITS) };
  } catch (error) {
    return { error };
  }
}

describe('readModule() and V8', () => {
  it('agree about the seeds', () => {
    for (const seed of SEEDS) {
      expect(v8Says(moduleOf(seed))).toBe('taken');
      expect(tryRead(moduleOf(seed)).error).toBeUndefined();
    }
  });

  it('agree about whatever a seed is changed to, except for the types inside bodies', () => {
    fc.assert(
      fc.property(mutants, (bytes) => {
        const { module, error } = tryRead(bytes);
        const verdict = v8Says(bytes);
        if (module !== undefined) {
          // A malformed body is a matter for the scanner, and its types are V8's.
          if (verdict !== 'taken') expect(verdict).toMatch(/Compiling function #/);
          expect(() => JSON.stringify(inspectSections(module))).not.toThrow();
          return;
        }
        expect(error).toBeInstanceOf(WasmError);
        const { code, offset = -1 } = error as WasmError;
        expect(offset >= 0 && offset <= bytes.length).toBe(true);
        if (verdict === 'taken') expect(['feature', 'limit']).toContain(code);
        else expect(['feature', 'limit', 'malformed']).toContain(code);
      }),
      { numRuns: volume(10_000, 1_000) },
    );
  });

  it('agree about files that end early', () => {
    for (const seed of SEEDS) {
      const whole = moduleOf(seed);
      for (let length = 0; length < whole.length; length += 1) {
        const bytes = whole.slice(0, length);
        const { error } = tryRead(bytes);
        expect(error === undefined, `${length} bytes`).toBe(v8Says(bytes) === 'taken');
        if (error !== undefined) expect(error).toMatchObject({ code: 'malformed' });
      }
    }
  });

  it('never disagree about noise behind a header', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (noise) => {
        const bytes = moduleOf([[...noise]]);
        const { error } = tryRead(bytes);
        if (error === undefined) expect(v8Says(bytes)).toMatch(/^taken$|Compiling function #/);
        else expect(error).toBeInstanceOf(WasmError);
      }),
    );
  });
});
