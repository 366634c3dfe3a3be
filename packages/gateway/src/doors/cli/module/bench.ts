/*
 * Measures one function of an untrusted module inside this process. Only the metered module runs, each call with limited
 * fuel, so each ends; between calls the clock and Ctrl-C are checked. Not limited here is the time V8 takes to compile a
 * function at its first call, which the limits on module size keep short.
 */
import { type CompiledModule, type Engine, type GuestValue, meter, WasmError } from '@palisade/wasm';
import type { Clock } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { codedOf } from './file.ts';

type Job = {
  readonly engine: Engine;
  readonly compiled: CompiledModule;
  readonly name: string;
  readonly args: readonly GuestValue[];
  readonly seconds: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
};

export type Spread = ReturnType<typeof spreadOf>;
export type Calls = Awaited<ReturnType<typeof measureCalls>>;

const LEAST_BATCH_MS = 1;
const MOST_IN_BATCH = 1_000_000;
const MOST_BATCHES = 100_000;
const INSTANCES = 100;
const SHORT_MS = 200;

/** How long the rewriting of the module takes, in milliseconds. */
export function measureRewrite(bytes: Uint8Array, clock: Clock): Spread {
  return repeat(clock, 25, () => void meter(bytes));
}

/** How long a new instance takes, its start function included. */
export function measureInstances({ engine, compiled, clock }: Job): Spread {
  return repeat(clock, INSTANCES, () => engine.instantiate(compiled).release());
}

/** Calls the function repeatedly for the requested time, on one instance. */
export async function measureCalls(job: Job) {
  const { clock, signal } = job;
  const tally = openTally(job);
  const samples: number[] = [];
  const end = clock.monotonicMs() + job.seconds * 1_000;
  let size = 1;
  while (samples.length < MOST_BATCHES) {
    const began = clock.monotonicMs();
    for (let call = 0; call < size; call += 1) tally.call();
    const now = clock.monotonicMs();
    // The measurement of a batch that is too short for the clock is dropped.
    const isShort = now - began < LEAST_BATCH_MS && size < MOST_IN_BATCH;
    if (isShort) size *= 2;
    if (!isShort || now >= end) samples.push((now - began) / size);
    if (now >= end) break;
    // Lets Ctrl-C through.
    await new Promise((go) => setImmediate(go));
    if (signal.aborted) throw new CodedError('tier/cancelled', 'Cannot finish the benchmark: cancelled');
  }
  return tally.report(spreadOf(samples.slice(Math.floor(samples.length / 4))));
}

/** Calls on one instance, and what they took; `callMs` has the milliseconds a call, one value per batch. */
function openTally({ engine, compiled, name, args }: Job) {
  const instance = engine.instantiate(compiled);
  let [calls, total, least, most, peakMemoryBytes] = [0, 0, Number.POSITIVE_INFINITY, 0, 0];
  let results: readonly GuestValue[] = [];
  return {
    call: () => {
      try {
        const used = instance.call(name, args);
        calls += 1;
        total += used.fuelUsed;
        least = Math.min(least, used.fuelUsed);
        most = Math.max(most, used.fuelUsed);
        ({ peakMemoryBytes, results } = used);
      } catch (error) {
        if (!(error instanceof WasmError) || calls === 0) throw error;
        throw codedOf(error, `${error.message}, after ${calls} successful calls`);
      }
    },
    report: (callMs: Spread) => {
      const mean = total / calls;
      // What the start function took.
      const startFuel = instance.startUsage.fuelUsed;
      const fuelPerSecond = (mean / callMs.median) * 1_000;
      const fuel = { least, most, mean };
      return { callMs, calls, startFuel, fuel, fuelPerSecond, peakMemoryBytes, results };
    },
  };
}

function repeat(clock: Clock, times: number, act: () => void): Spread {
  const samples: number[] = [];
  const end = clock.monotonicMs() + SHORT_MS;
  do {
    const began = clock.monotonicMs();
    act();
    samples.push(clock.monotonicMs() - began);
  } while (samples.length < times && clock.monotonicMs() < end);
  return spreadOf(samples);
}

/** The middle of some measurements, and where the outer tenths begin. */
function spreadOf(samples: readonly number[]) {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  return { median: at(0.5), p10: at(0.1), p90: at(0.9), count: sorted.length };
}
