import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CEILINGS } from '../../src/limits.ts';
import { type BodyFacts, inspectSections } from '../../src/read/facts.ts';
import { readModule } from '../../src/read/module.ts';
import {
  assemble,
  data,
  elements,
  imported,
  moduleOf,
  name,
  op,
  type Parts,
  sized,
  vector,
} from '../fixture/builder.ts';
import { unsigned } from '../fixture/leb.ts';
import { EXTERNREF, FUNCREF, I32, I64, V128 } from '../fixture/opcodes.ts';

const inspect = (parts: Parts, bodies?: BodyFacts) =>
  inspectSections(readModule(assemble(parts), CEILINGS), bodies);

const nothing = { params: [], results: [] };
/** Bytes that look like noise to a counter. */
const noise = (length: number) => Array.from({ length }, (_, at) => (at * 167 + 13) % 256);

describe('inspectSections()', () => {
  it('writes the types of imports and exports', () => {
    const facts = inspect({
      types: [{ params: [I32, I32], results: [I64] }, nothing, { params: [V128], results: [I32, EXTERNREF] }],
      imports: [
        { module: 'env', name: 'add', descriptor: imported.function(0) },
        { module: 'env', name: 'stop', descriptor: imported.function(1) },
        { module: 'env', name: 'pair', descriptor: imported.function(2) },
        { module: 'env', name: 'memory', descriptor: imported.memory({ min: 1, max: 16 }) },
        { module: 'env', name: 'table', descriptor: imported.table({ reference: FUNCREF, min: 3 }) },
        { module: 'env', name: 'counter', descriptor: imported.global({ type: I64, mutable: true }) },
        { module: 'env', name: 'base', descriptor: imported.global({ type: I32, mutable: false }) },
      ],
      exports: [
        { name: 'again', kind: 'function', index: 0 },
        { name: 'room', kind: 'memory', index: 0 },
      ],
    });
    expect(facts.imports.map(({ module, name, kind, type }) => `${module}.${name}: ${kind} ${type}`)).toEqual(
      [
        'env.add: function (i32, i32) -> i64',
        'env.stop: function () -> ()',
        'env.pair: function (v128) -> (i32, externref)',
        'env.memory: memory memory 1..16 pages',
        'env.table: table table 3.. funcref',
        'env.counter: global global mut i64',
        'env.base: global global i32',
      ],
    );
    expect(facts.exports).toEqual([
      { name: 'again', kind: 'function', type: '(i32, i32) -> i64' },
      { name: 'room', kind: 'memory', type: 'memory 1..16 pages' },
    ]);
  });

  it('counts what there is', () => {
    const { counts, hasStart, bytes } = inspect({
      types: [nothing],
      imports: [{ module: 'a', name: 'b', descriptor: imported.function(0) }],
      functions: [
        { type: 0, code: [] },
        { type: 0, code: [] },
      ],
      tables: [{ reference: FUNCREF, min: 4, max: 4 }],
      memories: [{ min: 1 }],
      globals: [{ type: I32, mutable: false, init: op('i32.const', 0) }],
      exports: [{ name: 'run', kind: 'function', index: 1 }],
      start: 1,
      elements: [elements.active(0, 0, [1, 2]), elements.passive([1])],
      data: [data.active(0, 0, [1, 2, 3]), data.passive([4])],
      customs: [{ name: 'x', content: [1, 2, 3, 4, 5] }],
    });
    expect(counts).toEqual({
      types: 1,
      imports: 1,
      exports: 1,
      importedFunctions: 1,
      definedFunctions: 2,
      tables: 1,
      memories: 1,
      globals: 1,
      elementSegments: 2,
      elements: 3,
      dataSegments: 2,
      dataBytes: 4,
      customSections: 1,
      customBytes: 5,
      codeBytes: 7,
    });
    expect(hasStart).toBe(true);
    expect(bytes).toBeGreaterThan(60);
    expect(inspect({}).hasStart).toBe(false);
  });

  it('adds up what memories and tables need, and knows no maximum where one has none', () => {
    const bounded = { reference: FUNCREF, min: 1, max: 10 };
    expect(inspect({ tables: [bounded, { ...bounded, min: 2, max: 20 }] }).table).toEqual({
      min: 3,
      max: 30,
    });
    expect(inspect({ tables: [bounded, { reference: FUNCREF, min: 2 }] }).table).toEqual({
      min: 3,
      max: undefined,
    });
    expect(inspect({ memories: [{ min: 2, max: 5 }] }).memory).toEqual({ min: 2, max: 5 });
    expect(inspect({}).memory).toEqual({ min: 0, max: 0 });
  });

  it('finds the largest data segment that looks encrypted, not the largest one', () => {
    const segments = [new Array(9_999).fill(7), noise(4_096), noise(8_192), noise(100)];
    const facts = inspect({ data: segments.map((content) => data.passive(content)) });
    expect(facts.data.map((segment) => segment.bytes)).toEqual([9_999, 4_096, 8_192, 100]);
    expect(facts.data[0]).toEqual({ mode: 'passive', bytes: 9_999, bitsPerByte: 0 });
    expect(facts.largestDense).toEqual({ mode: 'passive', bytes: 8_192, bitsPerByte: 8 });
    expect(inspect({ data: [data.passive(noise(100))] }).largestDense).toBeUndefined();
  });

  it('lists features of sections and bodies together, in the order of the table', () => {
    const parts = { types: [{ params: [], results: [I32, I32] }] };
    const bodies = {
      features: new Set(['simd', 'mvp', 'sign-extension', 'multi-value'] as const),
      instructions: 10,
      deepestNesting: 2,
      mostLocals: 3,
    };
    expect(inspect(parts).features).toEqual(['multi-value']);
    const facts = inspect(parts, bodies);
    expect(facts.features).toEqual(['sign-extension', 'multi-value', 'simd']);
    expect(facts.bodies).toEqual({ instructions: 10, deepestNesting: 2, mostLocals: 3 });
    expect('bodies' in inspect(parts)).toBe(false);
  });

  it('shares the text of a long type among all that have it', () => {
    const params = new Array(500).fill(I32);
    const facts = inspect({
      types: [{ params, results: [] }],
      imports: [{ module: '', name: '', descriptor: imported.function(0) }],
      exports: Array.from({ length: 1_000 }, (_, at) => ({ name: String(at), kind: 'function', index: 0 })),
    });
    expect(new Set(facts.exports.map((each) => each.type)).size).toBe(1);
    expect(facts.exports[999]?.type).toHaveLength(500 * 5 + ' -> ()'.length);
  });
});

describe('what a module says about itself', () => {
  const nameSection = (...content: readonly number[]) =>
    inspect({ customs: [{ name: 'name', content }] }).names;
  const functionNames = [
    1,
    ...sized(
      vector([
        [0, ...name('first')],
        [7, ...name('second')],
      ]),
    ),
  ];

  it('is told: its name and how many functions have one', () => {
    expect(nameSection(0, ...sized(name('sqlite')), ...functionNames)).toEqual({
      state: 'present',
      module: 'sqlite',
      functions: 2,
    });
    expect(inspect({}).names).toEqual({ state: 'absent', module: undefined, functions: 0 });
  });

  it.each<[string, readonly number[], object]>([
    ['past its end', [0, ...sized(name('a')), 1, 99, 0], { state: 'malformed', module: 'a', functions: 0 }],
    ['with 4 billion names', [1, ...sized(unsigned(0xffff_ffff))], { state: 'malformed', functions: 0 }],
    ['with a name that is not text', [0, 2, 1, 0xff], { state: 'malformed', module: undefined }],
    [
      'with a name too long to show',
      [0, ...sized(name('x'.repeat(9_999)))],
      { state: 'present', module: undefined },
    ],
    ['with unknown parts', [77, 1, 0], { state: 'present', functions: 0 }],
  ])('is a fact, not an error, where it is %s', (_what, content, names) => {
    expect(nameSection(...content)).toMatchObject(names);
  });

  it('is told: what it was made with', () => {
    const made = (...content: readonly number[]) =>
      inspect({ customs: [{ name: 'producers', content }] }).producers;
    const rust = [...name('language'), ...vector([[...name('Rust'), ...name('')]])];
    const tools = [...name('processed-by'), ...vector([[...name('rustc'), ...name('1.80')]])];
    expect(made(...vector([rust, tools]))).toEqual([
      { field: 'language', name: 'Rust', version: '' },
      { field: 'processed-by', name: 'rustc', version: '1.80' },
    ]);
    const many = vector(new Array(65).fill([...name('x'), ...name('1')]));
    expect(made(...vector([[...name('language'), ...many]]))).toEqual([]);
    expect(made(...vector(new Array(17).fill([...name('x'), 0])))).toEqual([]);
    expect(made(...vector([[...name('x'.repeat(257)), 0]]))).toEqual([]);
    expect(made(1, 9)).toEqual([]);
  });

  it('is shown for a real module', () => {
    const home = dirname(createRequire(import.meta.url).resolve('@cedar-policy/cedar-wasm/nodejs'));
    const module = readModule(readFileSync(join(home, 'cedar_wasm_bg.wasm')), CEILINGS);
    const facts = inspectSections(module);
    expect(facts.producers).toContainEqual(expect.objectContaining({ field: 'language', name: 'Rust' }));
    expect(facts.exports).toContainEqual({
      name: 'memory',
      kind: 'memory',
      type: expect.stringMatching(/^memory \d+\.\. pages$/),
    });
    expect(facts.imports.every((each) => each.module === './cedar_wasm_bg.js')).toBe(true);
    expect(facts.largestDense).toBeUndefined();
    expect(JSON.parse(JSON.stringify(facts)).counts).toEqual(facts.counts);
  });

  it('is nothing for the smallest module', () => {
    const facts = inspectSections(readModule(moduleOf([]), CEILINGS));
    expect(facts).toMatchObject({ bytes: 8, features: [], imports: [], exports: [], customs: [], data: [] });
  });
});
