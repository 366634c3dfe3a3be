import { type Facts, WasmError } from '@palisade/wasm';
import { CodedError } from '../../../core/coded-error.ts';
import { CODE_OF, RESERVED, RESERVED_REMEDY } from '../../../skills/audit/module/look.ts';
import { printError } from '../print-error.ts';
import type { Printer } from '../printer.ts';

/** The error as the commands tell it; the engine's own is its cause. */
export function codedOf(error: WasmError, message = error.message): CodedError {
  return new CodedError(CODE_OF[error.code], message, { cause: error });
}

/** Refuses a module that exports a name of the meter, with what to do about that; the engine would refuse it as well. */
export function requireFreeNames({ exports }: Facts): void {
  const taken = exports.find(({ name }) => name.startsWith(RESERVED));
  if (taken === undefined) return;
  const message = `Cannot accept module: it exports "${taken.name}", expected no name with "${RESERVED}"`;
  throw new CodedError('wasm/malformed', message, {
    remedy: RESERVED_REMEDY,
    cause: new WasmError('malformed', message),
  });
}

/** Runs a command; an error about the module is told with the engine's word for it, its place and what the guest used. */
export async function tellModuleErrors(print: Printer, act: () => Promise<number>): Promise<number> {
  try {
    return await act();
  } catch (error) {
    const coded = error instanceof WasmError ? codedOf(error) : error;
    if (!(coded instanceof CodedError) || !(coded.cause instanceof WasmError)) throw error;
    const { code: reason, offset = null, detail = null, usage = null } = coded.cause;
    return printError(print, coded, { reason, offset, detail, usage });
  }
}
