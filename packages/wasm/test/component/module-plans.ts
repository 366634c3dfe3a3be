/** Small core modules that use each other's functions, globals, tables and memories, as text from random plans. */
import fc from 'fast-check';
import { isSupported } from '../../src/features.table.ts';
import { wat } from '../fixture/wat.ts';

const HAS_SUMS = isSupported('extended-constants');

/** What every module exports as functions. */
export const EXPORTED = ['f', 'peek', 'count'] as const;

type Step = {
  readonly kind: (typeof STEPS)[number];
  /** An earlier module, or the module itself, modulo how many there are. */
  readonly of: number;
  readonly value: number;
};

const STEPS = [
  'multiply',
  'call',
  'indirect',
  'tail',
  'get',
  'set',
  'constant',
  'store',
  'load',
  'copy',
  'fill',
  'init',
  'drop',
  'size',
  'grow',
  'block',
  'table-get',
  'table-set',
  'table-init',
  'table-size',
  'reference',
  'vector',
] as const;

export type ModulePlan = {
  readonly steps: readonly Step[];
  /** Unused types, before the others. */
  readonly padding: number;
  readonly hasStart: boolean;
  /** Whether it imports the memory of the one before it and shows it as its own, or has one of its own beside all others. */
  readonly sharesMemory: boolean;
  /** Whether the module's constants are worked out from those of an earlier one. */
  readonly derives: boolean;
};

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...STEPS),
  of: fc.nat(9),
  value: fc.integer({ min: 0, max: 99 }),
});

const plans = fc.array(
  fc.record({
    steps: fc.array(step, { maxLength: 12 }),
    padding: fc.nat(3),
    hasStart: fc.boolean(),
    derives: fc.boolean(),
    sharesMemory: fc.constant(true),
  }),
  { minLength: 1, maxLength: 4 },
);

/** Where the engine takes several memories, half of the rows have one for each module. */
export const modulePlans: fc.Arbitrary<ModulePlan[]> = isSupported('multi-memory')
  ? fc.tuple(plans, fc.boolean()).map(([all, sharesMemory]) => all.map((plan) => ({ ...plan, sharesMemory })))
  : plans;

/** The module of a plan at a position in the list; it can use all modules before it. */
export function writePlan(plan: ModulePlan, index: number): Uint8Array<ArrayBuffer> {
  return wat(writeText(plan, index));
}

function writeText({ steps, padding, hasStart, derives, sharesMemory }: ModulePlan, index: number): string {
  // Every other one of those with a memory of their own knows no other, so that the first of a module is not that of all.
  const isLonely = !sharesMemory && index % 2 === 1;
  const memory = (of: number) => (sharesMemory ? '$m0' : `$m${isLonely ? index : of}`);
  const earlier = Array.from({ length: index }, (_none, other) => other);
  const isDerived = derives && index > 0;
  const derived = `(global.get $c${index - 1})`;
  const sum = HAS_SUMS ? `(i32.add ${derived} (i32.const ${index + 3}))` : derived;
  const nothing = isDerived && HAS_SUMS ? `(i32.sub ${derived} ${derived})` : '(i32.const 0)';
  const offset = isDerived ? derived : `(i32.const ${8 * index})`;
  return `(module
    ${'(type (func (param f32) (result f64)))'.repeat(padding)}
    (type $one (func (param i32) (result i32)))
    ${earlier.map((other) => importsOf(other, sharesMemory || isLonely)).join('\n')}
    ${sharesMemory && index > 0 ? `(import "m${index - 1}" "m" (memory $m0 1 3)) (export "m" (memory $m0))` : `(memory $m${index} (export "m") 1 3)`}
    (table $t${index} (export "t") 4 8 funcref)
    (global $g${index} (export "g") (mut i32) (i32.const ${index}))
    (global $c${index} (export "c") i32 ${isDerived ? sum : `(i32.const ${7 * index + 5})`})
    (elem (table $t${index}) ${nothing}
      func $own ${earlier
        .map((other) => `$f${other}`)
        .slice(0, 3)
        .join(' ')})
    (elem $passive func $own)
    (data (memory ${memory(0)}) ${offset} "module ${index}")
    (data (memory ${memory(0)}) (i32.const ${64 + 8 * index}) "by ${index}")
    (data $spare "spare ${index}")
    (func $own (param i32) (result i32) (i32.xor (local.get 0) (i32.const ${index + 1})))
    (func $f${index} (export "f") (param i32) (result i32)
      ${steps.map((each) => writeStep(each, index, memory)).join('\n')}
      (local.get 0))
    (func (export "peek") (param i32) (result i32)
      (i32.load8_u ${memory(index)} (i32.and (local.get 0) (i32.const 1023))))
    (func (export "count") (param i32) (result i32)
      (i32.add (local.get 0) (i32.add (global.get $g${index}) (global.get $c${index}))))
    (func $begin
      (global.set $g0 (i32.add (i32.mul (global.get $g0) (i32.const 3)) (i32.const ${index})))
      (i32.store8 ${memory(index)} (i32.const 900) (i32.const ${index + 1})))
    ${hasStart ? '(start $begin)' : ''})`;
}

function importsOf(other: number, withoutMemory: boolean): string {
  return `(import "m${other}" "f" (func $f${other} (type $one)))
    ${withoutMemory ? '' : `(import "m${other}" "m" (memory $m${other} 1 3))`}
    (import "m${other}" "t" (table $t${other} 4 8 funcref))
    (import "m${other}" "g" (global $g${other} (mut i32)))
    (import "m${other}" "c" (global $c${other} i32))`;
}

/** One step works on the parameter, and only calls modules that stand before its own. */
function writeStep({ kind, of, value }: Step, index: number, memory: (of: number) => string): string {
  const other = of % (index + 1);
  const m = memory(other);
  const callee = index === 0 ? '$own' : `$f${of % index}`;
  const set = (text: string) => `(local.set 0 ${text})`;
  const add = (text: string) => set(`(i32.add (local.get 0) ${text})`);
  switch (kind) {
    case 'multiply':
      return set(`(i32.add (i32.mul (local.get 0) (i32.const 3)) (i32.const ${value}))`);
    case 'call':
      return set(`(call ${callee} (local.get 0))`);
    case 'indirect':
      return set(`(call_indirect $t${index} (type $one) (local.get 0) (i32.const ${value % 3}))`);
    case 'tail':
      return `(if (i32.eq (local.get 0) (i32.const ${value})) (then (return_call ${callee} (local.get 0))))`;
    case 'get':
      return add(`(global.get $g${other})`);
    case 'set':
      return `(global.set $g${other} (local.get 0))`;
    case 'constant':
      return add(`(global.get $c${other})`);
    case 'store':
      return `(i32.store ${m} offset=${value} (i32.const 512) (local.get 0))`;
    case 'load':
      return add(`(i32.load16_s ${m} offset=${value} (i32.and (local.get 0) (i32.const 511)))`);
    case 'copy':
      return `(memory.copy ${m} ${memory(index)} (i32.const ${600 + value}) (i32.const 0) (i32.const 9))`;
    case 'fill':
      return `(memory.fill ${m} (i32.const ${700 + value}) (local.get 0) (i32.const 5))`;
    case 'init':
      return `(memory.init ${m} $spare (i32.const ${800 + value}) (i32.const 0) (i32.const 4))`;
    case 'drop':
      return value % 5 === 0 ? '(data.drop $spare) (elem.drop $passive)' : '';
    case 'size':
      return add(`(memory.size ${m})`);
    case 'grow':
      return value % 4 === 0 ? add(`(memory.grow ${m} (i32.const 1))`) : '';
    case 'block':
      return set(
        `(block $b (type $one) (local.get 0) (block $c (param i32) (result i32) (br_if $b (i32.const ${value % 2}))) (i32.const 1) (i32.add))`.replace(
          '(block $b (type $one) (local.get 0)',
          '(local.get 0) (block $b (type $one)',
        ),
      );
    case 'table-get':
      return add(`(ref.is_null (table.get $t${other} (i32.const ${value % 4})))`);
    case 'table-set':
      return `(table.set $t${index} (i32.const ${2 + (value % 2)}) (ref.func $own))`;
    case 'table-init':
      return `(table.init $t${index} $passive (i32.const 2) (i32.const 0) (i32.const 1))`;
    case 'table-size':
      return add(`(table.size $t${other})`);
    case 'reference':
      return add(`(ref.is_null (ref.func $f${index}))`);
    case 'vector':
      return add(`(i32x4.extract_lane 1 (v128.load32_splat ${m} (i32.const ${value})))`);
  }
}
