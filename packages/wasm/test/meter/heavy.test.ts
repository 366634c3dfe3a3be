/** Small modules that V8's compiler would take seconds or gigabytes for at the first call, and what else weighs. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS as L } from '../../src/limits.ts';
import { meter } from '../../src/meter/meter.ts';
import { assemble, type Bytes, elements, join, moduleOf, op, section, tile } from '../fixture/builder.ts';
import { unsigned } from '../fixture/leb.ts';
import { F64, FUNCREF, I32 } from '../fixture/opcodes.ts';
import { refusalOf } from '../fixture/refusal.ts';

type Binary = Uint8Array<ArrayBuffer>;

/** A module of one type that has these bodies, each after its locals. */
function running(...codes: readonly (readonly ArrayLike<number>[])[]): Binary {
  const bodies = codes.map((pieces) => {
    const code = join([...pieces, [0x0b]]);
    return join([unsigned(code.length), code]);
  });
  const content = join([unsigned(codes.length), ...bodies]);
  const functions = section(3, [...unsigned(codes.length), ...codes.map(() => 0)]);
  return moduleOf([section(1, [1, 0x60, 0, 0]), functions, [10, ...unsigned(content.length)], content]);
}

const locals = (count: number): Bytes => [1, ...unsigned(count), I32];
const BRANCH = [...op('i32.const', 0), ...op('if', undefined), ...op('end')];

/** Operands that lie on the stack while control splits. */
function heaped(operands: number, ifs: number): Binary {
  return running([[0], tile(operands, op('i32.const', 0)), tile(ifs, BRANCH), tile(operands, op('drop'))]);
}

/** Locals that are there while functions are called through a table. */
function calling(count: number, calls: number): Binary {
  const call = [...op('i32.const', 0), ...op('call_indirect', 0, 0)];
  const [head, ...rest] = [section(1, [1, 0x60, 0, 0]), section(3, [1, 0]), section(4, [1, FUNCREF, 0, 1])];
  const code = join([locals(count), tile(calls, call), [0x0b]]);
  const body = join([[1], unsigned(code.length), code]);
  return moduleOf([head ?? [], ...rest, [10, ...unsigned(body.length)], body]);
}

/** Functions that are each nearly as heavy as one may be. */
function heavy(functions: number): Binary {
  const one = [locals(4_900), tile(2_000, BRANCH)];
  return running(...new Array<typeof one>(functions).fill(one));
}

/** Calls that pass and return many values. */
function carrying(calls: number): Binary {
  const shape = { params: new Array(L.params).fill(F64), results: new Array(L.results).fill(F64) };
  const once = [...tile(L.params, op('f64.const', 0)), ...op('call', 1), ...tile(L.results, op('drop'))];
  const code = join([[0], tile(calls, once), [0x0b]]);
  const callee = join([[0], ...new Array(L.results).fill(op('f64.const', 0)), [0x0b]]);
  const body = join([[2], unsigned(code.length), code, unsigned(callee.length), callee]);
  const types = assemble({ types: [{ params: [], results: [] }, shape] }).subarray(8);
  return moduleOf([types, section(3, [2, 0, 1]), [10, ...unsigned(body.length)], body]);
}

/** Passive element segments of a thousand entries each. */
function listing(segments: number): Binary {
  const entries = new Array<number>(1000).fill(0);
  return assemble({
    types: [{ params: [], results: [] }],
    tables: [{ reference: FUNCREF, min: 1 }],
    functions: [{ type: 0, code: [] }],
    elements: Array.from({ length: segments }, () => elements.passive(entries)),
  });
}

type Weight = {
  readonly harmless: () => Binary;
  readonly refused: () => Binary;
  readonly detail: keyof typeof L;
};

const WEIGHTS: Readonly<Record<string, Weight>> = {
  'operands times ifs': {
    harmless: () => heaped(L.operands - 1, 1_000),
    refused: () => heaped(L.operands - 1, 6_000),
    detail: 'functionWeight',
  },
  'a heap of operands': {
    harmless: () => heaped(L.operands - 1, 1),
    refused: () => heaped(L.operands + 1, 1),
    detail: 'operands',
  },
  'locals times calls through a table': {
    harmless: () => calling(4_900, 100),
    refused: () => calling(4_900, 2_100),
    detail: 'functionWeight',
  },
  'functions that are each nearly as heavy as one may be': {
    harmless: () => heavy(1),
    refused: () => heavy(2),
    detail: 'moduleWeight',
  },
};

describe('meter() weighs', () => {
  it.each(Object.entries(WEIGHTS))('%s', (_what, { harmless, refused, detail }) => {
    expect(WebAssembly.validate(refused())).toBe(true);
    expect(refusalOf(() => meter(harmless()))).toBeUndefined();
    expect(refusalOf(() => meter(refused()))).toMatchObject({ code: 'limit', detail });
  });

  it('calls by what they pass and return', () => {
    const limits = { functionBytes: 7_000_000 };
    expect(refusalOf(() => meter(carrying(1_000), { limits }))).toBeUndefined();
    expect(
      refusalOf(() => meter(carrying(5_000), { limits: { ...limits, functionWeight: 1_000_000 } })),
    ).toMatchObject({
      code: 'limit',
      detail: 'functionWeight',
    });
  });
});

describe('meter() reads what V8 reads', () => {
  it('where the type of a local takes two bytes, so that the code after it would mean something else', () => {
    const module = moduleOf([
      section(1, [4, 0x60, 0, 0, 0x60, 0, 0, 0x60, 0, 0, 0x60, 0, 0]),
      section(3, [1, 0]),
      section(7, [1, 1, 0x66, 0, 0]),
      section(10, [1, 0x0b, 1, 1, 0x63, 2, 3, 1, 0x0c, 0, 0x0b, 0, 0x0b]),
    ]);
    expect(refusalOf(() => meter(module))).toMatchObject({ code: 'feature', detail: 'function-references' });
  });

  it.each([
    [0x6e, 'gc'],
    [0x6d, 'gc'],
    [0x6b, 'gc'],
    [0x71, 'gc'],
    [0x69, 'exceptions'],
    [0x64, 'function-references'],
  ])('where a local has the type %i of a refused proposal', (type, detail) => {
    expect(refusalOf(() => meter(running([[1, 1, type]])))).toMatchObject({ code: 'feature', detail });
    expect(refusalOf(() => meter(running([[0], [0x02, type, 0x00, 0x0b, 0x1a]])))).toMatchObject({
      code: 'feature',
      detail,
    });
  });

  it('where a block type is written in more bytes than it needs', () => {
    expect(refusalOf(() => meter(running([[0], [0x02, 0x40, 0x0b]])))).toBeUndefined();
    expect(refusalOf(() => meter(running([[0], [0x02, 0xc0, 0x7f, 0x0b]])))).toMatchObject({
      code: 'malformed',
    });
  });
});

/** Exported functions, each of a type of its own with so many parameters and two results. */
function exporting(count: number): Binary {
  const shapes = Array.from({ length: count }, (_, at) => ({
    params: Array.from({ length: 98 }, (_none, param) => ((at >> (param % 8)) & 1 ? F64 : I32)),
    results: [I32, I32],
  }));
  return assemble({
    types: shapes,
    functions: shapes.map((_, type) => ({ type, code: op('unreachable') })),
    exports: shapes.map((_, index) => ({ name: `f${index}`, kind: 'function', index })),
  });
}

it('meter() refuses many types of exports with several results, for each of which V8 compiles a wrapper', () => {
  expect(refusalOf(() => meter(exporting(60)))).toBeUndefined();
  expect(refusalOf(() => meter(exporting(61)))).toMatchObject({ code: 'limit', detail: 'results' });
});

it('meter() refuses element segments that have more entries together than a table may', () => {
  const limits = { tableElements: 3_000 };
  expect(refusalOf(() => meter(listing(3), { limits }))).toBeUndefined();
  expect(refusalOf(() => meter(listing(4), { limits }))).toMatchObject({
    code: 'limit',
    detail: 'tableElements',
  });
});
