import { setFlagsFromString } from 'node:v8';
import { createEngine, DEFAULT_LIMITS, inspect } from '@palisade/wasm';
import { numberOf, textOf } from '../input.ts';
import { type Calls, measureCalls, measureInstances, measureRewrite, type Spread } from '../module/bench.ts';
import { chooseExport, readArguments, requireNoImports, writeCallee } from '../module/choose.ts';
import { requireFreeNames, tellModuleErrors } from '../module/errors.ts';
import { rounded, writeTime } from '../module/figures.ts';
import { readModuleFile } from '../module/file.ts';
import type { Invocation } from '../verb.ts';

/** A call cannot be interrupted from inside its process, so this is what bounds it: some ten seconds of work. */
const MOST_FUEL = 10_000_000_000;
const DEFAULT_SECONDS = 2;
const MOST_SECONDS = 60;

/** Runs a function of a module under the meter and tells what it takes. The module itself, unmetered, never runs. */
export function run(invocation: Invocation): Promise<number> {
  return tellModuleErrors(invocation.print, async () => {
    const { print, edge, signal } = invocation;
    const fuel = numberOf(invocation, 'fuel', { min: 1, max: MOST_FUEL, absent: DEFAULT_LIMITS.fuel });
    const seconds = numberOf(invocation, 'seconds', { min: 1, max: MOST_SECONDS, absent: DEFAULT_SECONDS });
    const file = await readModuleFile(invocation);
    const facts = inspect(file.bytes);
    requireFreeNames(facts);
    requireNoImports(facts);
    // Boundary: Node 20 can end the process when it gives up optimised code in the middle of a call into WebAssembly.
    setFlagsFromString('--no-turbo-inline-js-wasm-calls');
    const { clock } = edge;
    const engine = createEngine({ limits: { fuel }, now: () => clock.monotonicMs() });
    const began = clock.monotonicMs();
    const compiled = await engine.compile(file.bytes);
    const compileMs = clock.monotonicMs() - began;
    const callee = chooseExport(compiled, textOf(invocation, 'export'));
    const args = readArguments(textOf(invocation, 'args'), callee);
    const job = { engine, compiled, name: callee.name, args, seconds, clock, signal };
    const rewriteMs = measureRewrite(file.bytes, clock);
    const instanceMs = measureInstances(job);
    const measured = { rewriteMs, compileMs, instanceMs, ...(await measureCalls(job)) };
    const told = { file: file.name, bytes: file.bytes.length, function: writeCallee(callee), measured };
    if (print.json) print.document(documentOf(told));
    else printMeasured(invocation, told);
    return 0;
  });
}

type Measured = Calls & {
  readonly rewriteMs: Spread;
  readonly compileMs: number;
  readonly instanceMs: Spread;
};

type Told = {
  readonly file: string;
  readonly bytes: number;
  readonly function: string;
  readonly measured: Measured;
};

function documentOf({ measured, ...rest }: Told) {
  const { results, ...figures } = measured;
  const rewriteBytesPerSecond = (rest.bytes / measured.rewriteMs.median) * 1_000;
  const callsPerSecond = 1_000 / measured.callMs.median;
  // An i64 is a bigint, which JSON has no number for.
  return { ...rest, ...figures, rewriteBytesPerSecond, callsPerSecond, results: results.map(String) };
}

function printMeasured({ print }: Invocation, { file, bytes, function: callee, measured }: Told): void {
  const { rewriteMs, compileMs, instanceMs, callMs, calls, fuel, startFuel } = measured;
  const row = (name: string, text: string) => print.line(`${name.padEnd(12)}${text}`);
  print.styled('bold', file, `  ${callee}`);
  row('rewrite', `${range(rewriteMs)}, which is ${rounded(bytes / rewriteMs.median / 1_000)} MB/s`);
  row(
    'compile',
    `${writeTime(compileMs)} with the rewriting; V8 compiles a function when it is first called`,
  );
  row('instance', `${range(instanceMs)}${startFuel > 0 ? `; its start takes ${startFuel} fuel` : ''}`);
  row('call', `${range(callMs)}, of ${calls} calls`);
  row('calls', `${rounded(1_000 / callMs.median)} a second`);
  const varies = fuel.least === fuel.most ? '' : `, from ${fuel.least} to ${fuel.most}`;
  row('fuel', `${rounded(fuel.mean)} a call${varies}; ${rounded(measured.fuelPerSecond)} a second`);
  row('memory', `${measured.peakMemoryBytes} bytes at the most`);
  row('result', measured.results.map(String).join(', ') || 'none');
}

/** `1.2 ms (1.1 to 1.4)`: the median, and where the outer tenths begin. */
function range({ median, p10, p90, count }: Spread): string {
  return count === 1 ? writeTime(median) : `${writeTime(median)} (${writeTime(p10)} to ${writeTime(p90)})`;
}
