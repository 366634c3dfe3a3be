import { realpathSync } from 'node:fs';
import { CEILINGS, DEFAULT_LIMITS, inspect, type Metered, type MeterOptions, meter } from '@palisade/wasm';
import { numberOf, textOf, wrongUsage } from '../input.ts';
import { requireFreeNames, tellModuleErrors } from '../module/errors.ts';
import { digestOf, type ModuleFile, readModuleFile } from '../module/file.ts';
import { replaceFile } from '../out-file.ts';
import type { Invocation } from '../verb.ts';

/** What the meter adds to a module, and how to use it from JavaScript. */
const CONTROLS = [
  {
    name: 'palisade:set',
    type: '(f64, i32) -> ()',
    sentence: 'gives fuel and stack bytes to what is called next',
    call: `exports['palisade:set'](1_000_000, 524_288)`,
  },
  {
    name: 'palisade:charge',
    type: '(f64) -> ()',
    sentence: 'takes fuel while a host function runs; no more than is left',
    call: `exports['palisade:charge'](1_000)`,
  },
  {
    name: 'palisade:left',
    type: '() -> f64',
    sentence: 'fuel left; below zero the call ran out of it, also when it returned',
    call: `exports['palisade:left']()`,
  },
  {
    name: 'palisade:why',
    type: '() -> i32',
    sentence: 'after a trap: 0 the program itself, 1 no fuel, 2 no stack',
    call: `exports['palisade:why']()`,
  },
];

/** Writes a module that counts its own work and stops when its fuel is used up; any engine can run it. */
export function run(invocation: Invocation): Promise<number> {
  return tellModuleErrors(invocation.print, async () => {
    const out = textOf(invocation, 'out');
    if (out === undefined)
      throw wrongUsage('Cannot write the metered module: --out is missing, expected a file');
    requireOther(invocation.args[0] ?? '', out);
    const initialFuel = numberOf(invocation, 'fuel', {
      min: 0,
      max: CEILINGS.fuel,
      absent: DEFAULT_LIMITS.fuel,
    });
    const options = { ...optionsOf(invocation), initialFuel };
    const file = await readModuleFile(invocation);
    requireFreeNames(inspect(file.bytes));
    const metered = meter(file.bytes, options);
    if (!WebAssembly.validate(metered.bytes)) throw new Error('the metered module is not valid');
    replaceFile(out, metered.bytes);
    report(invocation, { file, out, metered, initialFuel });
    return 0;
  });
}

function optionsOf(invocation: Invocation): MeterOptions {
  const form = textOf(invocation, 'form');
  if (form !== undefined && form !== 'local' && form !== 'thread')
    throw wrongUsage(`Cannot use --form "${form}": expected local or thread`);
  const deterministic = invocation.flags.deterministic === true;
  return { deterministic, ...(form === undefined ? {} : { form }) };
}

/** The metered module cannot be metered again, so what it was made from must stay. */
function requireOther(path: string, out: string): void {
  const [from, to] = [path, out].map(placeOf);
  if (from === undefined || from !== to) return;
  throw wrongUsage(`Cannot write "${out}": it is the module itself, expected another file`);
}

function placeOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

type Report = {
  readonly file: ModuleFile;
  readonly out: string;
  readonly metered: Metered;
  readonly initialFuel: number;
};

function report({ print, flags }: Invocation, { file, out, metered, initialFuel }: Report): void {
  const growth = Number((metered.bytes.length / file.bytes.length).toFixed(3));
  const isDeterministic = flags.deterministic === true;
  if (print.json) {
    print.document({
      file: out,
      sha256: digestOf(metered.bytes),
      bytes: metered.bytes.length,
      from: { file: file.name, sha256: file.sha256, bytes: file.bytes.length },
      growth,
      form: metered.form,
      deterministic: isDeterministic,
      initialFuel,
      memories: metered.memories,
      exports: CONTROLS,
    });
    return;
  }
  print.styled('bold', out);
  print.line(`size        ${file.bytes.length} bytes before, ${metered.bytes.length} now, ${growth} times`);
  print.line(`sha256      ${digestOf(metered.bytes)}`);
  print.line(`form        ${metered.form}${isDeterministic ? ', NaNs made canonical' : ''}`);
  print.line(`fuel        ${initialFuel} in a new instance, which the start function uses too`);
  print.line();
  print.table(
    ['EXPORT ADDED', 'TYPE', 'IN JAVASCRIPT', 'WHAT IT IS'],
    CONTROLS.map(({ name, type, call, sentence }) => [name, type, call, sentence]),
  );
}
