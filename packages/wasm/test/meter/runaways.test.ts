/** Guests that never stop, call too deep or take too much: how the meter ends them, and that it ends nothing else. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, type Limits } from '../../src/limits.ts';
import { type MeterOptions, meter } from '../../src/meter/meter.ts';
import {
  assemble,
  type Bytes,
  elements,
  imported,
  type Kind,
  op,
  type Parts,
  type Range,
  tile,
} from '../fixture/builder.ts';
import { hasMultiMemory } from '../fixture/features.ts';
import { F64, FUNCREF, I32, I64, V128 } from '../fixture/opcodes.ts';
import { refusalOf } from '../fixture/refusal.ts';

const FORMS = ['local', 'thread'] as const;
const STACK_BYTES = DEFAULT_LIMITS.stackBytes;
const FUEL = 1;
const STACK = 2;

const TYPES = [
  { params: [], results: [] },
  { params: [], results: [I32] },
  { params: [I32], results: [I32] },
];
const COUNTER = { type: I32, mutable: true, init: op('i32.const', 0) };
/** Adds one to the global that tells how far the guest got. */
const COUNT = [...op('global.get', 0), ...op('i32.const', 1), ...op('i32.add'), ...op('global.set', 0)];
const FOREVER = [...op('loop', undefined), ...COUNT, ...op('br', 0), ...op('end')];

/** A module that counts in its global and exports its first function, its memories and tables. */
function guest(code: Bytes, parts: Parts = {}): Uint8Array {
  const { functions = [], imports = [], memories = [], tables = [] } = parts;
  const exported = (kind: Kind, count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `${kind}${index}`, kind, index }));
  return assemble({
    types: TYPES,
    globals: [COUNTER],
    ...parts,
    functions: [{ type: 0, code }, ...functions],
    exports: [
      { name: 'run', kind: 'function', index: imports.length },
      { name: 'count', kind: 'global', index: 0 },
      ...exported('memory', memories.length),
      ...exported('table', tables.length),
    ],
  });
}

type Controls = {
  readonly run: (...args: readonly unknown[]) => unknown;
  readonly count: () => number;
  readonly set: (fuel: number, stackBytes: number) => void;
  readonly left: () => number;
  readonly why: () => number;
  readonly exports: WebAssembly.Exports;
};

function start(bytes: Uint8Array, options: MeterOptions, imports: WebAssembly.Imports = {}): Controls {
  const metered = meter(bytes, options);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(metered.bytes), imports);
  return {
    run: exports.run as Controls['run'],
    count: () => (exports.count as WebAssembly.Global).value,
    set: exports['palisade:set'] as Controls['set'],
    left: exports['palisade:left'] as Controls['left'],
    why: exports['palisade:why'] as Controls['why'],
    exports,
  };
}

/** How far a fresh guest gets with this fuel, and what ends it: 0 nothing, 1 fuel, 2 stack. */
function fate(
  bytes: Uint8Array,
  options: MeterOptions,
  fuel: number,
): { why: number; count: number; left: number } {
  const { run, count, set, left, why } = start(bytes, options);
  set(fuel, STACK_BYTES);
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(WebAssembly.RuntimeError);
    expect(why()).not.toBe(0);
  }
  return { why: left() < 0 ? FUEL : why(), count: count(), left: left() };
}

const inLoop = (...code: readonly Bytes[]) => [
  ...op('loop', undefined),
  ...COUNT,
  ...code.flat(),
  ...op('end'),
];
const calling = (code: Bytes): Parts => ({ functions: [{ type: 0, code }] });
const TABLE: Parts = { tables: [{ reference: FUNCREF, min: 1 }], elements: [elements.active(0, 0, [0])] };

const ENDLESS: Readonly<Record<string, Uint8Array>> = {
  'a loop that does nothing else': guest(FOREVER),
  'a loop without any operator': guest([...op('loop', undefined), ...op('br', 0), ...op('end')]),
  'a loop that goes back conditionally': guest(inLoop(op('i32.const', 1), op('br_if', 0))),
  'a loop that goes back through a table': guest(inLoop(op('i32.const', 9), op('br_table', 1, 0))),
  'a loop that goes back out of an if': guest(
    inLoop(op('i32.const', 1), op('if', undefined), op('br', 1), op('end')),
  ),
  'a loop in a loop': guest(
    inLoop(op('loop', undefined), op('i32.const', 0), op('br_if', 0), op('end'), op('br', 0)),
  ),
  'a loop with a value': guest([
    ...op('i32.const', 1),
    ...op('loop', ~2),
    ...COUNT,
    ...op('br', 0),
    ...op('end'),
    ...op('drop'),
  ]),
  'a loop that calls a leaf': guest(inLoop(op('call', 1), op('br', 0)), calling(op('nop'))),
  'a loop that calls a loop': guest(inLoop(op('call', 1), op('br', 0)), calling(FOREVER)),
  'a call in place of itself': guest([...COUNT, ...op('return_call', 0)]),
  'two that call in place of each other': guest(
    [...COUNT, ...op('return_call', 1)],
    calling(op('return_call', 0)),
  ),
  'a call in place of itself through a table': guest(
    [...COUNT, ...op('i32.const', 0), ...op('return_call_indirect', 0, 0)],
    TABLE,
  ),
  'forty functions that each call the next one twice': guest(op('call', 1), {
    functions: Array.from({ length: 40 }, (_, at) => ({
      type: 0,
      code: at === 39 ? COUNT : [...op('call', at + 2), ...op('call', at + 2)],
    })),
  }),
  'a loop that fills memory': guest(
    inLoop(
      op('i32.const', 0),
      op('i32.const', 1),
      op('i32.const', 65_536),
      op('memory.fill', 0),
      op('br', 0),
    ),
    { memories: [{ min: 1 }] },
  ),
  'a loop that grows a memory that cannot grow': guest(
    inLoop(op('i32.const', 1), op('memory.grow', 0), op('drop'), op('br', 0)),
    { memories: [{ min: 1, max: 1 }] },
  ),
};

describe.each(FORMS)('in form %s, fuel ends', (form) => {
  it.each(Object.entries(ENDLESS))('%s', (_what, bytes) => {
    const short = fate(bytes, { form }, 5_000);
    expect(short.why).toBe(FUEL);
    expect(short.left).toBeLessThan(0);
    expect(fate(bytes, { form }, 5_000)).toEqual(short);
    const long = fate(bytes, { form }, 50_000);
    expect(long.why).toBe(FUEL);
    // More fuel is more work, so the guest was not stopped for anything else.
    if (short.count > 0) expect(long.count).toBeGreaterThan(short.count * 5);
  });

  it('straight code of a million operators after a bounded piece of it', () => {
    const step = [...COUNT, ...op('nop')];
    const { count, why } = fate(guest([...tile(60_000, step)]), { form }, 100);
    expect(why).toBe(FUEL);
    expect(count * 4).toBeLessThan(100 + 10_000 + 4);
  });

  it('a guest in the middle of its work when the host takes the rest', () => {
    const bytes = guest(inLoop(op('call', 0), op('br', 0)), {
      imports: [{ module: 'host', name: 'tick', descriptor: imported.function(0) }],
    });
    let ticks = 0;
    const tick = () => {
      ticks += 1;
      if (ticks === 7) controls.set(-1, STACK_BYTES);
    };
    const controls = start(bytes, { form }, { host: { tick } });
    controls.set(1_000_000, STACK_BYTES);
    expect(() => controls.run()).toThrow(WebAssembly.RuntimeError);
    expect([ticks, controls.why()]).toEqual([7, FUEL]);
  });
});

const RECURSIVE: Readonly<Record<string, Uint8Array>> = {
  'a function that calls itself': guest([...COUNT, ...op('call', 0)]),
  'two that call each other': guest([...COUNT, ...op('call', 1)], calling(op('call', 0))),
  'a function that calls itself through a table': guest(
    [...COUNT, ...op('i32.const', 0), ...op('call_indirect', 0, 0)],
    TABLE,
  ),
  'a function with thousands of locals that calls itself': guest([...COUNT, ...op('call', 1)], {
    functions: [{ type: 0, locals: [[4_000, F64]], code: [...COUNT, ...op('call', 1)] }],
  }),
  'a function with thousands of vectors that calls itself': guest([...COUNT, ...op('call', 1)], {
    functions: [{ type: 0, locals: [[4_000, V128]], code: [...COUNT, ...op('call', 1)] }],
  }),
  'a function that hands hundreds of vectors on to itself': guest(
    [...tile(300, op('v128.const', ...new Array(16).fill(1))), ...op('call', 1)],
    {
      types: [...TYPES, { params: new Array(300).fill(V128), results: [] }],
      functions: [
        {
          type: 3,
          code: [
            ...COUNT,
            ...Array.from({ length: 300 }, (_, at) => op('local.get', at)).flat(),
            ...op('call', 1),
          ],
        },
      ],
    },
  ),
  'a function that holds hundreds of results of another one while it calls itself': guest(
    [...COUNT, ...op('call', 1), ...op('call', 1), ...op('call', 0), ...tile(1_000, op('drop'))],
    {
      types: [...TYPES, { params: [], results: new Array(500).fill(I64) }],
      functions: [{ type: 3, code: [...tile(500, op('i64.const', 1))] }],
    },
  ),
  'a function that returns hundreds of numbers of itself': guest(
    [...COUNT, ...op('call', 1), ...tile(500, op('drop'))],
    {
      types: [...TYPES, { params: [], results: new Array(500).fill(F64) }],
      functions: [{ type: 3, code: [...COUNT, ...op('call', 1)] }],
    },
  ),
  'a function that returns vectors of itself and has none': guest(
    [...COUNT, ...op('call', 1), ...tile(100, op('drop'))],
    {
      types: [...TYPES, { params: [], results: new Array(100).fill(V128) }],
      functions: [{ type: 3, code: [...COUNT, ...op('call', 1)] }],
    },
  ),
  'a function that calls itself from above a leaf with a huge frame': guest(
    [...COUNT, ...op('call', 1), ...op('call', 0)],
    { functions: [{ type: 0, locals: [[4_000, V128]], code: [...op('local.get', 0), ...op('drop')] }] },
  ),
  'a function with a full stack of operands that calls itself': guest([
    ...COUNT,
    ...tile(500, op('i64.const', 1)),
    ...op('call', 0),
    ...tile(500, op('drop')),
  ]),
};

describe.each(FORMS)('in form %s, the bound on the stack ends', (form) => {
  it.each(Object.entries(RECURSIVE))('%s', (_what, bytes) => {
    const options = { form, limits: { params: 500, results: 500 } };
    const first = fate(bytes, options, 10_000_000);
    // V8's own stack is larger than the bound, whatever the function holds in its frame.
    expect(first.why).toBe(STACK);
    expect(first.count).toBeGreaterThan(5);
    expect(fate(bytes, options, 10_000_000)).toEqual(first);
    expect(fate(bytes, options, 50).why).toBe(FUEL);
  });

  it('a guest that goes deeper each time it comes back from the host', () => {
    const bytes = guest([...COUNT, ...op('call', 0)], {
      imports: [{ module: 'host', name: 'again', descriptor: imported.function(0) }],
    });
    const controls = start(bytes, { form }, { host: { again: () => controls.run() } });
    controls.set(10_000_000, 64 * 1024);
    expect(() => controls.run()).toThrow(WebAssembly.RuntimeError);
    expect(controls.why()).toBe(STACK);
  });

  it('nothing that comes back: a hundred thousand calls one after the other', () => {
    const code = [...op('i32.const', 100_000), ...op('local.set', 0), ...op('loop', undefined)];
    const turn = [
      ...op('local.get', 0),
      ...op('i32.const', 1),
      ...op('i32.sub'),
      ...op('local.tee', 0),
      ...op('br_if', 0),
    ];
    const bytes = assemble({
      types: TYPES,
      globals: [COUNTER],
      functions: [
        { type: 0, locals: [[1, I32]], code: [...code, ...op('call', 1), ...turn, ...op('end')] },
        {
          type: 0,
          locals: [[9, I32]],
          code: [...COUNT, ...op('i32.const', 0), ...op('if', undefined), ...op('call', 0), 0x0b],
        },
      ],
      exports: [
        { name: 'run', kind: 'function', index: 0 },
        { name: 'count', kind: 'global', index: 0 },
      ],
    });
    expect(fate(bytes, { form }, 10_000_000)).toMatchObject({ why: 0, count: 100_000 });
  });
});

describe.each(FORMS)('in form %s, a start function', (form) => {
  const spinning = guest([], { functions: [{ type: 0, code: FOREVER }], start: 1 });
  it('that never ends is stopped while the module is instantiated', () => {
    expect(() => start(spinning, { form, initialFuel: 1_000 })).toThrow(WebAssembly.RuntimeError);
    expect(
      start(guest([], { functions: [{ type: 0, code: COUNT }], start: 1 }), {
        form,
        initialFuel: 1_000,
      }).count(),
    ).toBe(1);
  });

  it('that is deferred runs with the fuel it is given', () => {
    const { exports, count, set, why } = start(spinning, { form, start: 'defer' });
    expect(count()).toBe(0);
    set(1_000, STACK_BYTES);
    expect(() => (exports['palisade:start'] as () => void)()).toThrow(WebAssembly.RuntimeError);
    expect(why()).toBe(FUEL);
    expect(count()).toBeGreaterThan(100);
  });
});

/** Grows as often as asked, by this many at once; the count is how often that went well. */
function grower(grow: Bytes, parts: Parts): Uint8Array {
  const succeeded = [
    ...op('i32.const', -1),
    ...op('i32.ne'),
    ...op('if', undefined),
    ...COUNT,
    ...op('br', 1),
    ...op('end'),
  ];
  return guest([...op('loop', undefined), ...grow, ...succeeded, ...op('end')], parts);
}

describe.each(FORMS)('in form %s, the limit holds', (form) => {
  const PAGES = 10;
  const limits: Partial<Limits> = { memoryBytes: PAGES * 65_536, tableElements: 100 };
  const grown = (bytes: Uint8Array) => {
    const controls = start(bytes, { form, limits });
    controls.set(10_000_000, STACK_BYTES);
    controls.run();
    return controls;
  };
  const growMemory = (memory: number) => [...op('i32.const', 1), ...op('memory.grow', memory)];
  const growTable = (table: number) => [
    ...op('ref.null', FUNCREF),
    ...op('i32.const', 7),
    ...op('table.grow', table),
  ];

  it.each<[string, Range]>([
    ['without a maximum', { min: 1 }],
    ['with a maximum above the limit', { min: 1, max: 65_536 }],
  ])('for a memory %s', (_what, memory) => {
    const controls = grown(grower(growMemory(0), { memories: [memory] }));
    expect(controls.count()).toBe(PAGES - 1);
    expect((controls.exports.memory0 as WebAssembly.Memory).buffer.byteLength).toBe(limits.memoryBytes);
  });

  it('for a memory that asks for everything at once', () => {
    const code = [...op('i32.const', 65_535), ...op('memory.grow', 0)];
    expect(grown(grower(code, { memories: [{ min: 1 }] })).count()).toBe(0);
  });

  it('for a memory whose own maximum is lower', () => {
    expect(grown(grower(growMemory(0), { memories: [{ min: 1, max: 3 }] })).count()).toBe(2);
  });

  it('for tables together, each below it', () => {
    const table = { reference: FUNCREF, min: 10 };
    expect(grown(grower(growTable(1), { tables: [table, table] })).count()).toBe(Math.floor(80 / 7));
    expect(grown(grower(growTable(0), { tables: [{ ...table, max: 20 }] })).count()).toBe(1);
  });

  it('for memories together, each below it, where there can be several', () => {
    const bytes = grower(growMemory(1), { memories: [{ min: 3 }, { min: 3 }] });
    if (hasMultiMemory) expect(grown(bytes).count()).toBe(PAGES - 6);
    else expect(refusalOf(() => meter(bytes))).toMatchObject({ code: 'feature', detail: 'multi-memory' });
  });

  it('for bulk work, which is paid before it is done', () => {
    const bytes = guest(
      [
        ...op('i32.const', 0),
        ...op('i32.const', 7),
        ...op('i32.const', PAGES * 65_536),
        ...op('memory.fill', 0),
      ],
      { memories: [{ min: PAGES }] },
    );
    const poor = start(bytes, { form, limits });
    poor.set(1_000, STACK_BYTES);
    expect(() => poor.run()).toThrow(WebAssembly.RuntimeError);
    expect(poor.why()).toBe(FUEL);
    const firstByte = ({ exports }: Controls) =>
      new Uint8Array((exports.memory0 as WebAssembly.Memory).buffer)[0];
    expect(firstByte(poor)).toBe(0);
    expect(firstByte(grown(bytes))).toBe(7);
  });
});
