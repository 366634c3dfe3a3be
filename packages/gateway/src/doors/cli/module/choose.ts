import {
  type CompiledModule,
  type Facts,
  type GuestValue,
  type ModuleExport,
  WasmError,
} from '@palisade/wasm';
import { shorten } from '../../../skills/audit/module/words.ts';
import { wrongUsage } from '../input.ts';

/** A function that a module exports. */
export type Callee = ModuleExport & { readonly kind: 'function' };

const MOST_SHOWN = 10;

/** Refuses a module that wants something of a host: here is none. */
export function requireNoImports({ imports }: Facts): void {
  // Memories are made by the engine, within the limits.
  const missing = imports.filter(({ kind }) => kind !== 'memory');
  if (missing.length === 0) return;
  const names = missing.map(
    ({ module, name, type }) => `${shorten(module)}.${shorten(name)} ${shorten(type)}`,
  );
  const message = `Cannot run the module: it imports ${listSome(names)}, expected no import but a memory`;
  throw new WasmError('link', message, { detail: `${missing[0]?.module}.${missing[0]?.name}` });
}

/** The function to run: the one that was named, else the only one without parameters. */
export function chooseExport({ exports }: CompiledModule, name: string | undefined): Callee {
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

export function writeCallee({ name, params, results }: Callee): string {
  const given = results.length === 1 ? results[0] : `(${results.join(', ')})`;
  return shorten(`${shorten(name)}(${params.join(', ')}) -> ${given}`);
}

/** The arguments of --args, each read as the parameter it is for. */
export function readArguments(text: string | undefined, callee: Callee): readonly GuestValue[] {
  const { params, results } = callee;
  const foreign = [...params, ...results].find((type) => !NUMBERS.test(type));
  if (foreign !== undefined)
    throw wrongUsage(
      `Cannot call ${writeCallee(callee)}: no ${foreign} can cross to the host, expected numbers`,
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
