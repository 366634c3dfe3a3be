import { realpathSync } from 'node:fs';
import { CEILINGS, DEFAULT_LIMITS, inspect, type Metered, meter as meterModule } from '@palisade/wasm';
import { digestBytes } from '../../../core/digest.ts';
import { orElse } from '../../../core/result.ts';
import { choiceOf, numberOf, textOf, wrongUsage } from '../input.ts';
import { type ModuleFile, readModuleFile, requireFreeNames, withModuleErrors } from '../module/file.ts';
import { replaceFile } from '../out-file.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** What the meter adds to a module, and how to use it from JavaScript. */
const CONTROLS = [
  {
    name: 'palisade:set',
    type: '(f64, i32) -> ()',
    sentence: 'sets the fuel and the stack bytes of the next call',
    call: `exports['palisade:set'](1_000_000, 524_288)`,
  },
  {
    name: 'palisade:charge',
    type: '(f64) -> ()',
    sentence: 'charges fuel for a host function; at most what is left',
    call: `exports['palisade:charge'](1_000)`,
  },
  {
    name: 'palisade:left',
    type: '() -> f64',
    sentence: 'the fuel left; below zero the call ran out of fuel, even if it returned',
    call: `exports['palisade:left']()`,
  },
  {
    name: 'palisade:why',
    type: '() -> i32',
    sentence: 'the cause of a trap: 0 the program, 1 out of fuel, 2 out of stack',
    call: `exports['palisade:why']()`,
  },
];

/** Writes a module that counts its work and stops when its fuel runs out; any engine can run it. */
export function meter(invocation: Invocation): Promise<number> {
  return withModuleErrors(invocation.print, async () => {
    const out = textOf(invocation, 'out');
    if (out === undefined)
      throw wrongUsage('Cannot write the metered module: --out is missing, expected a file');
    requireOther(invocation.args[0] ?? '', out);
    const range = { min: 0, max: CEILINGS.fuel, absent: DEFAULT_LIMITS.fuel };
    const initialFuel = numberOf(invocation, 'fuel', range);
    const form = choiceOf(invocation, 'form', ['local', 'thread']);
    const deterministic = invocation.flags.deterministic === true;
    const options = { deterministic, initialFuel, ...(form === undefined ? {} : { form }) };
    const file = await readModuleFile(invocation);
    requireFreeNames(inspect(file.bytes));
    const metered = meterModule(file.bytes, options);
    if (!WebAssembly.validate(metered.bytes)) throw new Error('the metered module is not valid');
    replaceFile(out, metered.bytes);
    return report(invocation.print, file, out, { ...metered, deterministic, initialFuel });
  });
}

/** A metered module cannot be metered again, so the original must stay. */
function requireOther(path: string, out: string): void {
  const [from, to] = [path, out].map((each) => orElse(() => realpathSync(each), null));
  if (from === null || from !== to) return;
  throw wrongUsage(`Cannot write "${out}": it is the input module, expected another file`);
}

type MadeModule = Metered & { readonly deterministic: boolean; readonly initialFuel: number };

function report(print: Printer, file: ModuleFile, out: string, made: MadeModule): number {
  const { form, deterministic, initialFuel, memories } = made;
  const [before, bytes, sha256] = [file.bytes.length, made.bytes.length, digestBytes(made.bytes)];
  const growth = Number((bytes / before).toFixed(3));
  const from = { file: file.name, sha256: file.sha256, bytes: before };
  const more = { growth, form, deterministic, initialFuel, memories, exports: CONTROLS };
  return print.result({ file: out, sha256, bytes, from, ...more }, () => {
    print.styled('bold', out);
    print.line(`size        ${before} bytes before, ${bytes} after, ${growth} times`);
    print.line(`sha256      ${sha256}`);
    print.line(`form        ${form}${deterministic ? ', NaNs made canonical' : ''}`);
    print.line(`fuel        ${initialFuel} in a new instance, which the start function uses too`);
    print.line();
    print.table(
      ['EXPORT ADDED', 'TYPE', 'IN JAVASCRIPT', 'WHAT IT IS'],
      CONTROLS.map(({ name, type, call, sentence }) => [name, type, call, sentence]),
    );
  });
}
