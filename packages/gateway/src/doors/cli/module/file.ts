import { DEFAULT_LIMITS, type Facts, WasmError } from '@palisade/wasm';
import { CodedError } from '../../../core/coded-error.ts';
import { digestBytes } from '../../../core/digest.ts';
import { CODE_OF, RESERVED, RESERVED_REMEDY } from '../../../skills/audit/module/look.ts';
import { type Bound, readNamed } from '../input.ts';
import { type Printer, printError } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** A module that the command line names. */
export type ModuleFile = { readonly name: string; readonly bytes: Uint8Array; readonly sha256: string };

const { moduleBytes } = DEFAULT_LIMITS;
const BOUND: Bound = {
  maxBytes: moduleBytes,
  refuse: (name) => {
    const message = `Cannot read ${name}: it has more than ${moduleBytes} bytes`;
    return codedOf(new WasmError('limit', message, { detail: 'moduleBytes' }));
  },
};

/** Reads the file of the first argument, or standard input; never more than one byte past the limit. */
export async function readModuleFile(invocation: Invocation): Promise<ModuleFile> {
  const [path = ''] = invocation.args;
  const bytes = await readNamed(invocation, path, BOUND);
  const name = path === '-' ? 'standard input' : path;
  return { name, bytes, sha256: digestBytes(bytes) };
}

/** The error of the engine as a coded error, with itself as the cause. */
export function codedOf(error: WasmError, message = error.message): CodedError {
  return new CodedError(CODE_OF[error.code], message, { cause: error });
}

/** Refuses a module that exports a name of the meter, with a remedy; the engine would refuse it as well. */
export function requireFreeNames({ exports }: Facts): void {
  const taken = exports.find(({ name }) => name.startsWith(RESERVED));
  if (taken === undefined) return;
  const message = `Cannot accept module: it exports "${taken.name}", expected no name with "${RESERVED}"`;
  throw new CodedError('wasm/malformed', message, {
    remedy: RESERVED_REMEDY,
    cause: new WasmError('malformed', message),
  });
}

/** Runs a command; an error of the engine is printed with its reason, its offset and what the guest used. */
export async function withModuleErrors(print: Printer, act: () => Promise<number>): Promise<number> {
  try {
    return await act();
  } catch (error) {
    const coded = error instanceof WasmError ? codedOf(error) : error;
    if (!(coded instanceof CodedError) || !(coded.cause instanceof WasmError)) throw error;
    const { code: reason, offset = null, detail = null, usage = null } = coded.cause;
    return printError(print, coded, { reason, offset, detail, usage });
  }
}
