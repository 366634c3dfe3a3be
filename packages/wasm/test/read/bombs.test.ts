import { describe, expect, it } from 'vitest';
import { WasmError } from '../../src/error.ts';
import { DEFAULT_LIMITS, type Limits, narrowLimits } from '../../src/limits.ts';
import { readModule } from '../../src/read/module.ts';
import { assemble, custom, data, elements, imported, moduleOf, section } from '../fixture/builder.ts';
import { unsigned } from '../fixture/leb.ts';
import { FUNCREF, I32 } from '../fixture/opcodes.ts';

function refusal(bytes: Uint8Array, limits: Limits = DEFAULT_LIMITS): WasmError | undefined {
  try {
    readModule(bytes, limits);
    return undefined;
  } catch (error) {
    if (error instanceof WasmError) return error;
    throw error;
  }
}

const times = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);
const nothing = { params: [], results: [] };
const log = { module: '', name: '', descriptor: imported.function(0) };
const constant = { type: I32, mutable: false, init: [0x41, 0] };

/** Three of each thing, which a limit of three lets through and a limit of two does not. */
const THREE: readonly (readonly [key: keyof Limits, bytes: Uint8Array<ArrayBuffer>])[] = [
  ['types', assemble({ types: times(3, nothing) })],
  ['imports', assemble({ types: [nothing], imports: times(3, log) })],
  ['functions', assemble({ types: [nothing], imports: times(3, log) })],
  ['functions', assemble({ types: [nothing], imports: [log], functions: times(2, { type: 0, code: [] }) })],
  [
    'exports',
    assemble({
      memories: [{ min: 0 }],
      exports: ['a', 'b', 'c'].map((name) => ({ name, kind: 'memory', index: 0 })),
    }),
  ],
  ['globals', assemble({ globals: times(3, constant) })],
  ['globals', assemble({ imports: times(3, { ...log, descriptor: imported.global(constant) }) })],
  ['tables', assemble({ tables: times(3, { reference: FUNCREF, min: 0 }) })],
  [
    'tables',
    assemble({ imports: times(3, { ...log, descriptor: imported.table({ reference: FUNCREF, min: 0 }) }) }),
  ],
  ['elementSegments', assemble({ elements: times(3, elements.passive([])) })],
  ['dataSegments', assemble({ data: times(3, data.passive([])) })],
  ['dataSegments', assemble({ memories: [{ min: 0 }], data: times(3, data.active(0, 0, [])) })],
  ['customSections', moduleOf(times(3, custom('x', [])))],
  ['nameBytes', moduleOf([custom('abc', [])])],
  ['nameBytes', assemble({ memories: [{ min: 0 }], exports: [{ name: 'abc', kind: 'memory', index: 0 }] })],
  ['nameBytes', assemble({ types: [nothing], imports: [{ ...log, module: 'abc' }] })],
  ['nameBytes', assemble({ types: [nothing], imports: [{ ...log, name: 'abc' }] })],
  ['params', assemble({ types: [{ params: times(3, I32), results: [] }] })],
  ['results', assemble({ types: [{ params: [], results: times(3, I32) }] })],
  ['functionBytes', assemble({ types: [nothing], functions: [{ type: 0, code: [0x01] }] })],
  ['tableElements', assemble({ tables: [{ reference: FUNCREF, min: 3 }] })],
  [
    'tableElements',
    assemble({
      tables: [
        { reference: FUNCREF, min: 1 },
        { reference: FUNCREF, min: 2, max: 9 },
      ],
    }),
  ],
];

describe('readModule() holds each limit', () => {
  it.each(THREE)('%s: three pass where three are allowed, and not where two are', (key, bytes) => {
    expect(WebAssembly.validate(bytes)).toBe(true);
    expect(refusal(bytes, narrowLimits(DEFAULT_LIMITS, { [key]: 3 }))).toBeUndefined();
    expect(refusal(bytes, narrowLimits(DEFAULT_LIMITS, { [key]: 2 }))).toMatchObject({
      code: 'limit',
      detail: key,
    });
  });

  it('moduleBytes: before anything is looked at', () => {
    const limits = narrowLimits(DEFAULT_LIMITS, { moduleBytes: 8 });
    expect(refusal(moduleOf([]), limits)).toBeUndefined();
    expect(refusal(new Uint8Array(9), limits)).toMatchObject({
      code: 'limit',
      detail: 'moduleBytes',
      offset: 0,
    });
  });

  it('memoryBytes: a memory of exactly the limit passes, a page more does not', () => {
    const limits = narrowLimits(DEFAULT_LIMITS, { memoryBytes: 3 * 65_536 });
    expect(refusal(assemble({ memories: [{ min: 3 }] }), limits)).toBeUndefined();
    const bytes = assemble({ memories: [{ min: 4 }] });
    expect(refusal(bytes, limits)).toMatchObject({ code: 'limit', detail: 'memoryBytes' });
  });

  it('memoryBytes: many memories are as much as one, wherever they come from', () => {
    const limits = narrowLimits(DEFAULT_LIMITS, { memoryBytes: 2 * 65_536 });
    const bytes = assemble({
      imports: [{ ...log, descriptor: imported.memory({ min: 2 }) }],
      memories: [{ min: 1 }],
    });
    // Engines that know one memory only refuse the second one by name, but only after it was counted.
    expect(refusal(bytes, limits)).toMatchObject({ code: 'limit', detail: 'memoryBytes' });
  });

  it('memories: counted even where they are empty', () => {
    const limits = narrowLimits(DEFAULT_LIMITS, { memories: 1 });
    const defined = assemble({ memories: [{ min: 0 }, { min: 0 }] });
    expect(refusal(defined, limits)).toMatchObject({ code: 'limit', detail: 'memories' });
    const brought = assemble({ imports: times(2, { ...log, descriptor: imported.memory({ min: 0 }) }) });
    expect(refusal(brought, limits)).toMatchObject({ code: 'limit', detail: 'memories' });
  });

  it('the defaults refuse the known bombs', () => {
    const memory = assemble({ memories: [{ min: 65_536 }] });
    expect(refusal(memory)).toMatchObject({ code: 'limit', detail: 'memoryBytes' });
    const table = assemble({ tables: [{ reference: FUNCREF, min: 10_000_000 }] });
    expect(refusal(table)).toMatchObject({ code: 'limit', detail: 'tableElements' });
    expect(WebAssembly.validate(memory) && WebAssembly.validate(table)).toBe(true);
  });
});

describe('readModule() is not impressed by counts', () => {
  const huge = unsigned(0xffff_ffff);
  it.each([
    ['types', section(1, huge)],
    ['parameters', section(1, [1, 0x60, ...huge])],
    ['results', section(1, [1, 0x60, 0, ...huge])],
    ['imports', section(2, huge)],
    ['an import name', section(2, [1, ...huge, 0, 0, 0])],
    ['functions', section(3, huge)],
    ['tables', section(4, huge)],
    ['memories', section(5, huge)],
    ['globals', section(6, huge)],
    ['exports', section(7, huge)],
    ['element segments', section(9, huge)],
    ['elements', section(9, [1, 1, 0, ...huge])],
    ['element expressions', section(9, [1, 5, 0x70, ...huge])],
    ['bodies', section(10, huge)],
    ['data segments', section(11, huge)],
    ['a data segment', section(11, [1, 1, ...huge])],
    ['the data count', section(12, huge)],
    ['a custom name', section(0, huge)],
  ])('4 billion as the number or length of %s', (_what, part) => {
    expect(refusal(moduleOf([part]))?.code).toMatch(/^(malformed|limit)$/);
  });

  it('a million functions that are really there', () => {
    const count = unsigned(1_000_000);
    const types = section(1, [1, 0x60, 0, 0]);
    const functions = [3, ...unsigned(count.length + 1_000_000), ...count];
    const bytes = moduleOf([types, functions, times(1_000_000, 0)]);
    expect(refusal(bytes)).toMatchObject({ code: 'limit', detail: 'functions' });
  });

  it('constants that pile up without an end', () => {
    const pile = (count: number) => {
      const globals = [[1, I32, 0], times(count, [0x41, 0]).flat(), [0x0b]].flat();
      return moduleOf([[6, ...unsigned(globals.length)], globals]);
    };
    const limits = narrowLimits(DEFAULT_LIMITS, { nesting: 2 });
    expect(refusal(pile(1), limits)).toBeUndefined();
    expect(refusal(pile(2), limits)).toMatchObject({ code: 'malformed' });
    expect(refusal(pile(3), limits)).toMatchObject({ code: 'limit', detail: 'nesting' });
    expect(refusal(pile(10_001))).toMatchObject({ code: 'limit', detail: 'nesting' });
  });
});
