/** A metered module does what the module does, and counts what the rules say, whatever the module is. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { type MeterOptions, meter } from '../../src/meter/meter.ts';
import { type Plan, type Program, programOf } from '../fixture/generate.ts';
import { plans } from '../fixture/plans.ts';
import { type Observation, observe, observeReference } from '../fixture/run.ts';

const FUEL = 20_000;
const STACK_BYTES = 256 * 1024;
const GENEROUS = { fuel: FUEL, stackBytes: STACK_BYTES };

const LOCAL: MeterOptions = { form: 'local', start: 'defer' };
const THREAD: MeterOptions = { form: 'thread', start: 'defer' };
const VARIANTS: readonly MeterOptions[] = [
  THREAD,
  { ...LOCAL, deterministic: true },
  { ...THREAD, deterministic: true },
];

function metered(program: Program, options: MeterOptions): Uint8Array<ArrayBuffer> {
  const { bytes } = meter(program.bytes, options);
  expect(WebAssembly.validate(bytes), 'the metered module is valid').toBe(true);
  return bytes;
}

function completes({ endings }: Observation): boolean {
  return endings.every(({ kind }) => kind !== 'exhausted');
}

/** Everything that must be the same with and without the meter. A start function that traps leaves no instance to look at. */
function visible({ endings, log, state }: Observation, program: Program) {
  const failedToStart = program.parts.start !== undefined && endings[0]?.kind !== 'returned';
  return { endings, log, ...(failedToStart ? {} : digest(state)) };
}

function digest({ memories, tables, globals }: Observation['state']) {
  return { memories: memories.map((memory) => Buffer.from(memory).toString('latin1')), tables, globals };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function check(runs: number, judge: (plan: Plan, pick: number) => void): void {
  // Shrinking a failure may take long: what it has found by then is enough.
  const terms = { numRuns: volume(runs, 30), interruptAfterTimeLimit: 45_000 };
  fc.assert(fc.property(plans(), fc.nat(), judge), terms);
}

test('every form of the meter keeps results, traps, host calls, memories, tables and globals', () => {
  check(300, (plan) => {
    const program = programOf(plan);
    const first = observe(metered(program, LOCAL), program, GENEROUS);
    for (const options of VARIANTS) {
      const other = observe(metered(program, options), program, GENEROUS);
      expect(visible(other, program)).toEqual(visible(first, program));
    }
    // A bare module may run for ever, so it only runs when the metered one has come to its end.
    if (!completes(first)) return;
    expect(visible(observe(program.bytes, program), program)).toEqual(visible(first, program));
  });
});

test('every form of the meter counts exactly what the reference interpreter counts', () => {
  check(300, (plan) => {
    const program = programOf(plan);
    const reference = observeReference(program, FUEL);
    for (const options of [LOCAL, ...VARIANTS]) {
      const run = observe(metered(program, options), program, GENEROUS);
      if (!completes(run)) continue;
      const returned = run.endings.map(({ kind }) => kind === 'returned');
      const counts = (each: Observation) => each.used.filter((_, at) => returned[at]);
      expect(counts(run)).toEqual(counts(reference));
      expect(run.left, 'what is left at host calls').toEqual(reference.left);
    }
  });
});

test('a call completes with exactly its count as fuel and runs out with one unit less', () => {
  check(200, (plan, pick) => {
    const program = programOf(plan);
    for (const options of [LOCAL, THREAD]) {
      const bytes = metered(program, options);
      const run = observe(bytes, program, GENEROUS);
      if (!run.endings.every(({ kind }) => kind === 'returned')) continue;
      const exact = observe(bytes, program, { ...GENEROUS, fuel: run.used });
      expect(visible(exact, program)).toEqual(visible(run, program));
      const victim = pick % run.used.length;
      const fuel = run.used.map((used, at) => (at === victim ? used - 1 : used));
      expect(observe(bytes, program, { ...GENEROUS, fuel }).endings[victim]).toEqual({
        kind: 'exhausted',
        why: 1,
      });
    }
  });
});

test('a run that is cut short stops at the same place every time, and with the same host calls in both forms', () => {
  check(200, (plan, pick) => {
    const program = programOf(plan);
    const local = metered(program, LOCAL);
    const whole = observe(local, program, GENEROUS);
    const victim = pick % whole.used.length;
    // Whatever comes after the call that is cut short gets nothing: it would see what that one left behind.
    const fuel = whole.used.map((used, at) =>
      at < victim ? FUEL : at === victim ? pick % Math.max(1, used) : 0,
    );
    const cut = observe(local, program, { ...GENEROUS, fuel });
    const again = observe(local, program, { ...GENEROUS, fuel });
    expect({ ...again, state: digest(again.state) }).toEqual({ ...cut, state: digest(cut.state) });
    const other = observe(metered(program, THREAD), program, { ...GENEROUS, fuel });
    const sure = (run: Observation) => ({ log: run.log, endings: run.endings.slice(0, victim + 1) });
    expect(sure(other)).toEqual(sure(cut));
    if (whole.endings[victim]?.kind === 'returned' && (whole.used[victim] ?? 0) > 0) {
      expect([cut, other].map(({ endings }) => endings[victim]?.kind)).toEqual(['exhausted', 'exhausted']);
    }
  });
});

test('a module does the same when it starts by itself and when its memories come from outside', () => {
  check(150, (plan) => {
    const program = programOf(plan);
    const deferred = observe(metered(program, LOCAL), program, GENEROUS);
    if (!completes(deferred)) return;
    for (const form of ['local', 'thread'] as const) {
      const { bytes, memories } = meter(program.bytes, { form, memories: 'import', initialFuel: FUEL });
      // Only the memories that the module defines are turned into imports.
      const own = memories.map(({ minPages, maxPages }, index) => [
        `memory:${index}`,
        new WebAssembly.Memory({ initial: minPages, maximum: maxPages }),
      ]);
      const run = observe(bytes, program, GENEROUS, { palisade: Object.fromEntries(own) });
      expect(visible(run, program)).toEqual(visible(deferred, program));
    }
  });
});

test('a call of the host costs what the host says, beside its operator', () => {
  check(150, (plan) => {
    const program = programOf(plan);
    const hostFuel = { 'env.host0': 100, 'env.host1': 7, 'env.host2': 13 };
    const fuelOf = new Map(Object.entries(hostFuel));
    // A function that the guest only hands on is called by the host itself, without the guest.
    if (program.calls.some(({ name }) => name === 'handed on')) return;
    const free = observe(metered(program, LOCAL), program, GENEROUS);
    if (!free.endings.every(({ kind }) => kind === 'returned')) return;
    for (const form of ['local', 'thread'] as const) {
      const { bytes, chargedByHost } = meter(program.bytes, { form, start: 'defer', hostFuel });
      const paid = observe(bytes, program, { ...GENEROUS, fuel: 2 * FUEL });
      const due = free.log.map((call) => {
        const name = call.split('(')[0] ?? '';
        const index = program.hosts.findIndex((host) => host.name === name);
        // What can be reached through a table is charged by the host function, which here is a stub.
        return chargedByHost.includes(index) ? 0 : (fuelOf.get(`env.${name}`) ?? 0);
      });
      expect(sum(paid.used)).toBe(sum(free.used) + sum(due));
    }
  });
});

test('deterministic means the program that makes every NaN canonical by hand', () => {
  check(200, (plan) => {
    const raw = programOf(plan, { canonical: false });
    const byHand = programOf(plan, { canonical: true });
    for (const form of ['local', 'thread'] as const) {
      const run = observe(metered(raw, { form, start: 'defer', deterministic: true }), raw, GENEROUS);
      if (!completes(run)) continue;
      expect(visible(run, raw)).toEqual(visible(observe(byHand.bytes, byHand), byHand));
    }
  });
});
