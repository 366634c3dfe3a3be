/** A guest that is reset in place is like one that has not been called yet. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSupported } from '../../src/features.table.ts';
import { createEngine } from '../../src/instance/engine.ts';
import { outlineOf } from '../../src/instance/outline.ts';
import { renewalOf } from '../../src/instance/renewal.ts';
import { meter } from '../../src/meter/meter.ts';
import { HEADER, join, tile } from '../fixture/builder.ts';
import { programOf } from '../fixture/generate.ts';
import { unsigned } from '../fixture/leb.ts';
import { plans } from '../fixture/plans.ts';
import { refusalOf } from '../fixture/refusal.ts';
import { observeRenewed } from '../fixture/run.ts';
import { wat } from '../fixture/wat.ts';

/** Changes all that it can, but for tables and segments, and says what it finds. */
const CHANGING = wat(`(module
  (memory (export "memory") 2 8)
  (data (i32.const 100) "first")
  (data (i32.const 102) "over it")
  (data $passive "kept")
  (global $number (mut i32) (i32.const 11))
  (global $wide (mut i64) (i64.const -22))
  (global $small (mut f32) (f32.const 1.25))
  (global $float (mut f64) (f64.const nan:0x123))
  (global $function (mut funcref) (ref.func $one))
  (global $foreign (mut externref) (ref.null extern))
  (table 2 funcref)
  (elem (i32.const 0) func $one)
  (type $answer (func (result i32)))
  (func $one (result i32) (i32.const 1))
  (func $fill (export "fill") (param $byte i32)
    (memory.fill (i32.const 0) (local.get $byte) (i32.mul (memory.size) (i32.const 65536)))
    (memory.init $passive (i32.const 5) (i32.const 0) (i32.const 4))
    (global.set $number (i32.const 99)) (global.set $wide (i64.const 99)) (global.set $small (f32.const 99))
    (global.set $float (f64.const 99)) (global.set $function (ref.null func)))
  (func (export "grow") (call $fill (i32.const 7)) (drop (memory.grow (i32.const 1))))
  (func (export "fail") (call $fill (i32.const 7)) (unreachable))
  (func (export "sum") (result i64) (local $at i32) (local $sum i64)
    (loop $next
      (local.set $sum (i64.add (i64.mul (local.get $sum) (i64.const 31)) (i64.load (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536)))))
    (local.get $sum))
  (func (export "globals") (result i32 i64 f32 i64 i32 i32 i32)
    (global.get $number) (global.get $wide) (global.get $small) (i64.reinterpret_f64 (global.get $float))
    (ref.is_null (global.get $function)) (ref.is_null (global.get $foreign))
    (call_indirect (type $answer) (i32.const 0))))`);

const engine = createEngine();

describe('a guest of a pool that ended well', () => {
  it('is reset for the next run: memories, data and globals of every type', async () => {
    const compiled = await engine.compile(CHANGING);
    const pool = engine.pool(compiled, { size: 1 });
    const look = () => [...pool.run('sum').results, ...pool.run('globals').results];
    const first = look();
    for (const name of ['fill', 'grow', 'fill', 'fill']) {
      pool.run(name, name === 'fill' ? [0xaa] : []);
      expect(look()).toEqual(first);
    }
    expect(() => pool.run('fail')).toThrow('unreachable');
    expect(look()).toEqual(first);
    // The control: one instance for all shows what there is to be seen.
    const kept = engine.instantiate(compiled);
    kept.call('fill', [0xaa]);
    expect([...kept.call('sum').results, ...kept.call('globals').results]).not.toEqual(first);
  });

  it.each([
    ['sets an element of a table', '(table.set (i32.const 0) (ref.null func))'],
    ['grows a table', '(drop (table.grow (ref.null func) (i32.const 1)))'],
    ['fills a table', '(table.fill (i32.const 0) (ref.null func) (i32.const 1))'],
    ['copies elements', '(table.copy (i32.const 0) (i32.const 1) (i32.const 1))'],
    ['puts elements in', '(table.init $elements (i32.const 0) (i32.const 0) (i32.const 1))'],
    ['gives up elements', '(elem.drop $elements)'],
    ['gives up data', '(data.drop $bytes)'],
  ])('is a new instance where the module %s', (_name, code) => {
    const body = (text: string) =>
      wat(`(module (memory 1) (table 2 9 funcref) (data $bytes "x") (elem $elements func 0) (func ${text}))`);
    const controls = (bytes: Uint8Array) =>
      WebAssembly.Module.exports(new WebAssembly.Module(meter(bytes, { renewal: true }).bytes)).map(
        ({ name }) => name,
      );
    expect(controls(body(code))).not.toContain('palisade:renew');
    expect(controls(body(''))).toContain('palisade:renew');
  });
});

/** Counts in a global and in its memory, and says how often it was called. */
const COUNTING = wat(`(module (memory 1) (global $calls (mut i32) (i32.const 0))
  (func (export "count") (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1)))
    (i32.add (global.get $calls) (i32.load (i32.const 8)))))`);

describe("a pool whose runs exhaust the machine's stack", () => {
  it('loses no slot, and never reuses a guest that was not reset', async () => {
    const pool = engine.pool(await engine.compile(COUNTING), { size: 1 });
    const found = new Set<unknown>();
    let failures = 0;
    const dig = (depth: number): void => {
      if (depth > 0) dig(depth - 1);
      else found.add(pool.run('count').results[0]);
    };
    const isDone = (depth: number): boolean => {
      try {
        dig(depth);
        return true;
      } catch (error) {
        failures += 1;
        if (!(error instanceof RangeError)) found.add(error);
        return false;
      }
    };
    let most = 1000;
    while (isDone(most)) most += 50;
    // Code that is optimised meanwhile has smaller frames and reaches further down.
    for (let depth = most - 100; depth < most + 100 || failures < 6; depth += 1) isDone(depth);
    isDone(0);
    expect([...found]).toEqual([2]);
  });
});

describe('a module whose globals have long initial values', () => {
  const globals = (count: number) =>
    wat(`(module ${'(global (mut i64) (i64.const 0x7fffffffffffffff))'.repeat(count)})`);
  const isRenewable = (bytes: Uint8Array) =>
    WebAssembly.Module.exports(new WebAssembly.Module(meter(bytes, { renewal: true }).bytes)).some(
      ({ name }) => name === 'palisade:renew',
    );

  it('is a new instance each time', () => {
    expect(isRenewable(globals(1000))).toBe(true);
    expect(isRenewable(globals(2000))).toBe(false);
  });

  it('is taken also where a function that sets them would be longer than V8 takes one', () => {
    const sum = join([[0x41, 1], tile(3_000_000, [0x41, 1, 0x6a]), [0x0b]]);
    const module = join([HEADER, [6], unsigned(3 + sum.length), [1, 0x7f, 1], sum]);
    const isTaken = isSupported('extended-constants');
    expect(refusalOf(() => meter(module))?.code).toBe(isTaken ? undefined : 'feature');
  });
});

describe('any program that can be reset', () => {
  it('has the same state after a run and a reset as before the run', () => {
    let renewed = 0;
    let changed = 0;
    const judge = (plan: Parameters<typeof programOf>[0]) => {
      const program = programOf(plan);
      const { bytes, memories, module, copies } = meter(program.bytes, { start: 'defer', renewal: true });
      const terms = { memories, functions: module.functions.length, copies };
      const outline = outlineOf(bytes, { ...terms, hostFuel: {}, hostCharged: new Set() });
      const seen = observeRenewed(bytes, program, renewalOf(outline, bytes));
      if (seen === undefined) return;
      renewed += 1;
      if (JSON.stringify(seen.used) !== JSON.stringify(seen.fresh)) changed += 1;
      expect(seen.renewed).toEqual(seen.fresh);
    };
    fc.assert(fc.property(plans(), judge), { numRuns: 300, interruptAfterTimeLimit: 45_000 });
    expect(renewed, 'programs that were made new').toBeGreaterThan(20);
    expect(changed, 'programs that had changed something').toBeGreaterThan(5);
  });
});
