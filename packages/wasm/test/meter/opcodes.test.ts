/** Two tables of instructions, written apart from each other, and V8 as the third opinion. */
import { describe, expect, it } from 'vitest';
import { CHANGE_OF, CODE_OF, MISC_BASE, NAN_OF, VECTOR_BASE } from '../../src/meter/opcodes.ts';
import { assemble, op } from '../fixture/builder.ts';
import {
  EXTERNREF,
  F32,
  F64,
  I32,
  I64,
  makesNaN,
  OPERATORS,
  type Operator,
  V128,
} from '../fixture/opcodes.ts';

function codeOf({ prefix, code }: Operator): number {
  return (prefix === undefined ? 0 : prefix === 0xfc ? MISC_BASE : VECTOR_BASE) + code;
}

/** A function that takes the operands of an operator and gives its results. */
function using(
  { name, pops, pushes, immediate, lanes }: Operator,
  results: readonly number[] = pushes,
): Uint8Array {
  const access = immediate.startsWith('memory') ? [0, 0] : [];
  const bytes = immediate === 'bytes16' ? 16 : lanes > 0 ? 1 : 0;
  const constant = /^[if]\d+\.const$/.test(name) ? [0] : [];
  const operator = op(name, ...access, ...constant, ...new Array(bytes).fill(0));
  return assemble({
    types: [{ params: pops, results }],
    memories: [{ min: 1 }],
    functions: [{ type: 0, code: [...pops.flatMap((_, at) => op('local.get', at)), ...operator] }],
  });
}

const plain = OPERATORS.filter((operator) => operator.plain);

describe('the table of instructions', () => {
  it('has the same codes as the one written for the tests', () => {
    const names = OPERATORS.filter(({ name }) => name !== 'select t');
    expect(names.map((operator) => [operator.name, CODE_OF.get(operator.name)])).toEqual(
      names.map((operator) => [operator.name, codeOf(operator)]),
    );
    // The two prefixes are not instructions, but bytes that the table has to know.
    const known = new Set([0xfc, 0xfd, ...OPERATORS.map(codeOf)]);
    expect([...CODE_OF].filter(([, code]) => !known.has(code))).toEqual([]);
    expect(new Set(CODE_OF.values()).size).toBe(known.size);
  });

  it('changes the height of the stack by what the types say', () => {
    expect(plain.map((operator) => [operator.name, CHANGE_OF[codeOf(operator)]])).toEqual(
      plain.map(({ name, pops, pushes }) => [name, pushes.length - pops.length]),
    );
  });

  it('knows which operators leave the bits of a NaN open', () => {
    const open = OPERATORS.filter((operator) => (NAN_OF[codeOf(operator)] ?? 0) > 0).map(({ name }) => name);
    expect(open.sort()).toEqual(
      OPERATORS.filter(({ name }) => makesNaN(name))
        .map(({ name }) => name)
        .sort(),
    );
  });
});

describe('V8', () => {
  const other = new Map([
    [I32, I64],
    [I64, F32],
    [F32, F64],
    [F64, V128],
    [V128, EXTERNREF],
  ]);
  it.each(plain.map((operator) => [operator.name, operator] as const))(
    'takes %s with its types only',
    (_name, operator) => {
      expect(WebAssembly.validate(using(operator) as Uint8Array<ArrayBuffer>)).toBe(true);
      const wrong =
        operator.pushes.length > 0 ? operator.pushes.map((type) => other.get(type) ?? I32) : [I32];
      expect(WebAssembly.validate(using(operator, wrong) as Uint8Array<ArrayBuffer>)).toBe(false);
    },
  );
});
