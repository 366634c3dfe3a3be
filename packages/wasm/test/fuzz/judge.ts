/**
 * What must hold for any bytes: whatever looks at them refuses with a WasmError and nothing else, and what the meter
 * takes was valid before and is valid after, in every form.
 */
import { WasmError } from '../../src/error.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { type Metered, type MeterOptions, meter } from '../../src/meter/meter.ts';
import { survey } from '../../src/meter/survey.ts';
import { inspectSections } from '../../src/read/facts.ts';
import { readModule } from '../../src/read/module.ts';

/** What is put to the test; a test of the fuzzer puts something broken in its place. */
export type Subject = {
  /** Everything that sees the bytes before V8 has validated them. Gives the names of the features they use. */
  readonly read: (bytes: Uint8Array) => ReadonlySet<string>;
  readonly meter: (bytes: Uint8Array, options: MeterOptions) => Pick<Metered, 'bytes'>;
};
export const SUBJECT: Subject = { read, meter };

/** What happened, in few words: inputs with the same words taught the same. */
export type Verdict = { readonly accepted: boolean; readonly words: string };

/** Something that must never happen. */
export class Fault extends Error {
  override readonly name = 'Fault';
}

const FORMS: readonly MeterOptions[] = [
  { form: 'local' },
  { form: 'thread', start: 'defer' },
  { form: 'local', deterministic: true, memories: 'import' },
  { form: 'thread', deterministic: true },
];

function read(bytes: Uint8Array): ReadonlySet<string> {
  const module = readModule(bytes, DEFAULT_LIMITS);
  const { features } = survey(module, DEFAULT_LIMITS);
  inspectSections(module);
  return new Set([...module.features, ...features]);
}

/** Puts one input to the test, in two forms chosen by `turn`. Throws a Fault for what must never happen. */
export function judge(bytes: Uint8Array<ArrayBuffer>, turn = 0, subject: Subject = SUBJECT): Verdict {
  const features = attempt('the reader', () => subject.read(bytes));
  const isValid = !(features instanceof WasmError) && WebAssembly.validate(bytes);
  // The meter begins with the reader and with V8: that it does is looked at only now and then.
  if (!isValid && turn % 8 !== 0) return refused(features instanceof WasmError ? features : undefined);
  const first = attempt('the meter', () => subject.meter(bytes, formAt(turn)));
  if (first instanceof WasmError) return refused(first);
  if (!isValid) throw new Fault('the meter takes what the reader or V8 refuses');
  requireValid(first, turn);
  const another = turn + 1 + ((turn >> 2) % 3);
  const other = attempt('the meter', () => subject.meter(bytes, formAt(another)));
  // The limit on a function's size after metering is the one thing that can tell the forms apart.
  if (!(other instanceof WasmError)) requireValid(other, another);
  else if (other.code !== 'limit') throw new Fault(`only one form refuses: ${other.message}`);
  const names = features instanceof WasmError ? [] : [...features].sort();
  return {
    accepted: true,
    words: `accepted ${names.join(' ')} ${Math.round(Math.log2(first.bytes.length))}`,
  };
}

function formAt(turn: number): MeterOptions {
  return FORMS[turn % FORMS.length] ?? {};
}

function attempt<Given>(who: string, act: () => Given): Given | WasmError {
  try {
    return act();
  } catch (error) {
    if (error instanceof WasmError) return error;
    const stack = error instanceof Error ? error.stack : undefined;
    throw new Fault(`${who} throws ${String(error)}`, { cause: stack });
  }
}

function requireValid({ bytes }: Pick<Metered, 'bytes'>, turn: number): void {
  if (WebAssembly.validate(bytes)) return;
  let reason = '';
  try {
    new WebAssembly.Module(bytes);
  } catch (error) {
    reason = error instanceof Error ? error.message : '';
  }
  throw new Fault(`form ${turn % FORMS.length} gives an invalid module: ${reason}`);
}

/** A refusal without its numbers and names. What V8 says about types has too many forms, so it is cut short. */
function refused(refusal: WasmError | undefined): Verdict {
  if (refusal === undefined) return { accepted: false, words: 'invalid' };
  const { code, detail, message } = refusal;
  const plain = message.replace(/"[^"]*"/g, '""').replace(/\d+/g, '#');
  const short = code === 'invalid' ? plain.split(/[:,[]/).slice(0, 3).join().slice(0, 90) : plain;
  return { accepted: false, words: `${code} ${detail ?? ''} ${short}` };
}
