import { setFlagsFromString } from 'node:v8';
import {
  type CompiledModule,
  createEngine,
  DEFAULT_LIMITS,
  type Facts,
  type GuestValue,
  inspect,
  type ModuleExport,
  WasmError,
} from '@palisade/wasm';
import { shorten } from '../../../skills/audit/module/words.ts';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import { type Calls, measureCalls, measureInstances, measureRewrite, type Spread } from '../module/bench.ts';
import { type ModuleFile, readModuleFile, requireFreeNames, withModuleErrors } from '../module/file.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** A call cannot be interrupted inside its own process, so fuel limits it: to about ten seconds of work. */
const MOST_FUEL = 10_000_000_000;
const DEFAULT_SECONDS = 2;
const MOST_SECONDS = 60;

/** Measures a function of the metered module. The unmetered module never runs. */
export function bench(invocation: Invocation): Promise<number> {
  return withModuleErrors(invocation.print, async () => {
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
    const report = documentOf(file, writeCallee(callee), measured);
    return print.result(report, () => printMeasured(print, report));
  });
}

type Measured = Calls & Readonly<Record<'rewriteMs' | 'instanceMs', Spread>> & { compileMs: number };

function documentOf(
  { name: file, bytes: { length: bytes } }: ModuleFile,
  callee: string,
  measured: Measured,
) {
  const { results, ...figures } = measured;
  const rewriteBytesPerSecond = (bytes / measured.rewriteMs.median) * 1_000;
  const callsPerSecond = 1_000 / measured.callMs.median;
  const about = { file, bytes, function: callee };
  // An i64 is a bigint, which JSON has no number for.
  return { ...about, ...figures, rewriteBytesPerSecond, callsPerSecond, results: results.map(String) };
}

function printMeasured(print: Printer, report: ReturnType<typeof documentOf>): void {
  const { rewriteMs, compileMs, instanceMs, callMs, calls, fuel, startFuel, results } = report;
  const start = startFuel > 0 ? `; its start function uses ${startFuel} fuel` : '';
  const varies = fuel.least === fuel.most ? '' : `, from ${fuel.least} to ${fuel.most}`;
  const row = (name: string, text: string) => print.line(`${name.padEnd(12)}${text}`);
  print.styled('bold', report.file, `  ${report.function}`);
  row('rewrite', `${range(rewriteMs)}, which is ${rounded(report.rewriteBytesPerSecond / 1_000_000)} MB/s`);
  row('compile', `${writeTime(compileMs)} including the rewriting; V8 compiles a function at its first call`);
  row('instance', `${range(instanceMs)}${start}`);
  row('call', `${range(callMs)}, of ${calls} calls`);
  row('calls', `${rounded(report.callsPerSecond)} a second`);
  row('fuel', `${rounded(fuel.mean)} a call${varies}; ${rounded(report.fuelPerSecond)} a second`);
  row('memory', `${report.peakMemoryBytes} bytes at most`);
  row('result', results.join(', ') || 'none');
}

/** `1.2 ms (1.1 to 1.4)`: the median, and where the outer tenths begin. */
function range({ median, p10, p90, count }: Spread): string {
  return count === 1 ? writeTime(median) : `${writeTime(median)} (${writeTime(p10)} to ${writeTime(p90)})`;
}

type Callee = ModuleExport & { readonly kind: 'function' };

const MOST_SHOWN = 10;

/** Refuses a module that needs host functions: a benchmark has none. */
function requireNoImports({ imports }: Facts): void {
  // Memories are made by the engine, within the limits.
  const missing = imports.filter(({ kind }) => kind !== 'memory');
  if (missing.length === 0) return;
  const names = missing.map(
    ({ module, name, type }) => `${shorten(module)}.${shorten(name)} ${shorten(type)}`,
  );
  const message = `Cannot run the module: it imports ${listSome(names)}, expected no import except a memory`;
  throw new WasmError('link', message, { detail: `${missing[0]?.module}.${missing[0]?.name}` });
}

/** The function to run: that of --export, else the only one without parameters. */
function chooseExport({ exports }: CompiledModule, name: string | undefined): Callee {
  const functions = exports.filter((each): each is Callee => each.kind === 'function');
  const shown = listSome(functions.map(writeCallee)) || 'none';
  if (name === undefined) {
    const [only, other] = functions.filter(({ params }) => params.length === 0);
    if (only !== undefined && other === undefined) return only;
    throw wrongUsage(
      `Cannot choose a function: ${only === undefined ? 'none is' : 'several are'} without parameters, expected --export NAME with one of: ${shown}`,
    );
  }
  const chosen = functions.find((each) => each.name === name);
  if (chosen !== undefined) return chosen;
  throw wrongUsage(`Cannot find the function "${name}": expected one of: ${shown}`);
}

function writeCallee({ name, params, results }: Callee): string {
  const given = results.length === 1 ? results[0] : `(${results.join(', ')})`;
  return shorten(`${shorten(name)}(${params.join(', ')}) -> ${given}`);
}

/** The arguments of --args, each read as the parameter it is for. */
function readArguments(text: string | undefined, callee: Callee): readonly GuestValue[] {
  const { params, results } = callee;
  const foreign = [...params, ...results].find((type) => !NUMBERS.test(type));
  if (foreign !== undefined)
    throw wrongUsage(
      `Cannot call ${writeCallee(callee)}: a ${foreign} cannot be passed to or from the host, expected numbers`,
    );
  const raw = text === undefined || text === '' ? [] : text.split(',').map((each) => each.trim());
  if (raw.length !== params.length) {
    const expected = params.length === 0 ? 'none' : `one for each of ${params.join(', ')}`;
    throw wrongUsage(
      `Cannot call ${writeCallee(callee)}: --args ${text === undefined ? 'is missing' : `has ${raw.length}`}, expected ${expected}`,
    );
  }
  return params.map((type, index) => readValue(type, raw[index] ?? ''));
}

const NUMBERS = /^[if](32|64)$/;
const INTEGER = /^-?[0-9]{1,20}$/;

function readValue(type: string, raw: string): GuestValue {
  if (type === 'i64' && INTEGER.test(raw)) return BigInt(raw);
  const value = Number(raw);
  const isNumber = raw !== '' && (!Number.isNaN(value) || raw === 'NaN');
  if (type === 'i32' && INTEGER.test(raw)) return value;
  if ((type === 'f32' || type === 'f64') && isNumber) return value;
  throw wrongUsage(`Cannot use the argument "${raw}": expected a number for ${type}`);
}

function listSome(texts: readonly string[]): string {
  const rest = texts.length - MOST_SHOWN;
  return rest > 0 ? `${texts.slice(0, MOST_SHOWN).join(', ')} and ${rest} more` : texts.join(', ');
}

/** `1.2 KB`; decimal, like the rates of machines. */
export function writeBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${rounded(bytes / 1_000)} KB` : `${rounded(bytes / 1_000_000)} MB`;
}

const TIMES = [
  [1_000, 's', 1_000],
  [1, 'ms', 1],
  [0.001, 'µs', 0.001],
] as const;

/** `1.23 ms`, in the unit that fits. */
function writeTime(ms: number): string {
  for (const [from, unit, divisor] of TIMES) if (ms >= from) return `${rounded(ms / divisor)} ${unit}`;
  return `${rounded(ms * 1_000_000)} ns`;
}

/** `12,345`; below ten with two digits behind the point. */
function rounded(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}
