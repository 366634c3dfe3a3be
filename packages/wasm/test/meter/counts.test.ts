/** What small programs cost, worked out by hand from the table of costs, and where they stop with less. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { meter } from '../../src/meter/meter.ts';
import { wat } from '../fixture/wat.ts';

const FORMS = ['local', 'thread'] as const;

type Program = {
  /** Fields of a module whose function `run` is exported, with a global `mark`. */
  readonly text: string;
  readonly args?: readonly number[];
  readonly fuel: number;
};

const SUM = `(func (export "run") (param i32) (result i32) (local i32)
  (loop $again
    (local.set 1 (i32.add (local.get 1) (local.get 0)))
    (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
  (local.get 1))`;

const FIB = `(func $fib (export "run") (param i32) (result i32)
  (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
    (then (local.get 0))
    (else (i32.add
      (call $fib (i32.sub (local.get 0) (i32.const 1)))
      (call $fib (i32.sub (local.get 0) (i32.const 2)))))))`;

/** Calls of fib(n): 2 fib(n + 1) - 1. A leaf costs 1 + 5, an inner call 1 + 4 + 9. */
const FIB_10 = 89 * 6 + 88 * 14;

const PROGRAMS: Readonly<Record<string, Program>> = {
  'an empty function costs its entry': { text: '(func (export "run"))', fuel: 1 },
  'a constant and a drop: only the constant counts': {
    text: '(func (export "run") (drop (i32.const 1)))',
    fuel: 2,
  },
  'nops and blocks are free': {
    text: '(func (export "run") (block (block (nop) (nop))))',
    fuel: 1,
  },
  'an operator and its operands cost one each': {
    text: '(func (export "run") (result i32) (i32.add (i32.const 1) (i32.const 2)))',
    fuel: 1 + 3,
  },
  'the arm that is taken counts, the other does not: then': {
    text: `(func (export "run") (param i32)
      (if (local.get 0) (then (drop (i32.const 1)) (drop (i32.const 1))) (else (drop (i32.const 1)))))`,
    args: [1],
    fuel: 1 + 2 + 2,
  },
  'the arm that is taken counts, the other does not: else': {
    text: `(func (export "run") (param i32)
      (if (local.get 0) (then (drop (i32.const 1)) (drop (i32.const 1))) (else (drop (i32.const 1)))))`,
    args: [0],
    fuel: 1 + 2 + 1,
  },
  'a return leaves the rest unpaid': {
    text: '(func (export "run") (drop (i32.const 1)) (return) (drop (i32.const 1)))',
    fuel: 2,
  },
  'a branch past code leaves it unpaid': {
    text: '(func (export "run") (block (br 0) (drop (i32.const 1))) (drop (i32.const 1)))',
    fuel: 1 + 1 + 1,
  },
  'a loop costs each time around': { text: SUM, args: [1000], fuel: 1 + 1000 * 9 + 1 },
  'a call costs itself and what it calls': {
    text: '(func $callee (drop (i32.const 1))) (func (export "run") (call $callee) (call $callee))',
    fuel: 1 + 2 * (1 + 2),
  },
  'recursion adds up': { text: FIB, args: [10], fuel: FIB_10 },
  'a branch table costs one operator and its index': {
    text: `(func (export "run") (param i32)
      (block (block (br_table 0 1 (local.get 0))) (drop (i32.const 1))) (drop (i32.const 1)))`,
    args: [1],
    fuel: 1 + 2 + 1,
  },
  'a call through a table costs like any other': {
    text: `(table funcref (elem $callee)) (func $callee (drop (i32.const 1)))
      (func (export "run") (call_indirect (i32.const 0)))`,
    fuel: 1 + 2 + 2,
  },
  'filling memory costs sixteen and one for eight bytes': {
    text: '(memory 1) (func (export "run") (memory.fill (i32.const 0) (i32.const 7) (i32.const 6400)))',
    fuel: 1 + 3 + 16 + 800,
  },
  'growing memory costs by the page': {
    text: '(memory 1 9) (func (export "run") (drop (memory.grow (i32.const 3))))',
    fuel: 1 + 1 + 512 + 3 * 1024,
  },
  'a large frame costs more to enter: an eighth for each slot past 64': {
    text: `(func (export "run") (param i32) (result f64 f64) (local ${'i64 '.repeat(103)})
      (f64.const 0) (f64.const 0))`,
    args: [0],
    fuel: 1 + 5 + 2,
  },
  'a grow that cannot be costs its base': {
    text: '(memory 1 9) (func (export "run") (drop (memory.grow (i32.const -1))))',
    fuel: 1 + 1 + 512,
  },
};

type Exports = {
  readonly run: (...args: readonly number[]) => unknown;
  readonly set: (fuel: number, stackBytes: number) => void;
  readonly left: () => number;
  readonly why: () => number;
};

function start(text: string, form: 'local' | 'thread'): Exports {
  const { bytes } = meter(wat(`(module ${text})`), { form });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  return {
    run: exports.run as Exports['run'],
    set: exports['palisade:set'] as Exports['set'],
    left: exports['palisade:left'] as Exports['left'],
    why: exports['palisade:why'] as Exports['why'],
  };
}

describe.each(FORMS)('in the %s form', (form) => {
  it.each(Object.entries(PROGRAMS))('%s', (_name, { text, args = [], fuel }) => {
    const { run, set, left } = start(text, form);
    set(fuel, DEFAULT_LIMITS.stackBytes);
    run(...args);
    expect(left()).toBe(0);
  });

  it.each(Object.entries(PROGRAMS))(
    'with one unit less it runs out: %s',
    (_name, { text, args = [], fuel }) => {
      const { run, set, left, why } = start(text, form);
      set(fuel - 1, DEFAULT_LIMITS.stackBytes);
      try {
        run(...args);
      } catch (error) {
        expect(error).toBeInstanceOf(WebAssembly.RuntimeError);
        expect(why()).toBe(1);
      }
      expect(left()).toBeLessThan(0);
    },
  );

  it('a branch with a value leaves what it passes over unpaid, however many branches stand before it', () => {
    for (let before = 0; before <= 600; before += 1) {
      // Two ways of the flow each, and one: so the branch with a value is also the first that the arrays must grow for.
      const text = `(func (export "run") (param i32) (result i32) (local i32)
        ${'(block (br_if 0 (local.get 0)))'.repeat(before >> 1)}
        ${'(loop)'.repeat(before & 1)}
        (drop (br_if 0 (i32.const 7) (local.get 0)))
        ${'(local.set 1 (i32.const 0))'.repeat(9)}
        (i32.const 0))`;
      const { run, set, left } = start(text, form);
      const fuel = 1 + 2 * (before >> 1) + 3;
      for (const [taken, rest] of [
        [1, 0],
        [0, 2 * 9 + 1],
      ] as const) {
        set(fuel + rest, DEFAULT_LIMITS.stackBytes);
        run(taken);
        expect(left(), `${before} branches, taken ${taken}`).toBe(0);
      }
    }
  });

  it('each unit of fuel moves the end of a loop by no more than one time around', () => {
    const steps = `(global $mark (export "mark") (mut i32) (i32.const 0))
      (func (export "run") (loop $again
        (global.set $mark (i32.add (global.get $mark) (i32.const 1)))
        (br $again)))`;
    const { bytes } = meter(wat(`(module ${steps})`), { form });
    const module = new WebAssembly.Module(bytes);
    const reached = Array.from({ length: 200 }, (_, fuel) => {
      const { exports } = new WebAssembly.Instance(module);
      (exports['palisade:set'] as Exports['set'])(fuel, DEFAULT_LIMITS.stackBytes);
      expect(() => (exports.run as Exports['run'])()).toThrow(WebAssembly.RuntimeError);
      return (exports.mark as WebAssembly.Global).value as number;
    });
    const moves = reached.slice(1).map((mark, fuel) => mark - (reached[fuel] ?? 0));
    expect(new Set(moves)).toEqual(new Set([0, 1]));
    // One time around costs five operators.
    expect(reached.at(-1)).toBe(Math.floor((199 - 1) / 5));
  });
});
