import { CODES, type Code } from '@palisade/sdk';
import { type Facts, WasmError, type WasmErrorCode } from '@palisade/wasm';
import { CodedError } from '../../../core/coded-error.ts';
import { printError } from '../print-error.ts';
import type { Printer } from '../printer.ts';

/** How a command ends when the engine says no or a guest does not end well. */
export const CODE_OF: Readonly<Record<WasmErrorCode, Code>> = {
  malformed: 'wasm/malformed',
  invalid: 'wasm/invalid',
  feature: 'wasm/feature',
  limit: 'wasm/limit',
  memory: 'wasm/limit',
  link: 'wasm/link',
  export: 'door/wrong-usage',
  fuel: 'wasm/out-of-fuel',
  stack: 'wasm/trapped',
  unreachable: 'wasm/trapped',
  'out-of-bounds': 'wasm/trapped',
  arithmetic: 'wasm/trapped',
  'indirect-call': 'wasm/trapped',
  trap: 'wasm/trapped',
  // No command has host functions, deadlines or an instance that it calls after a failure.
  host: 'gateway/fault',
  deadline: 'gateway/fault',
  retired: 'gateway/fault',
};

/** What a person can do about an error of the engine. */
export function remedyOf({ code }: WasmError): string {
  return CODES[CODE_OF[code]].remedy;
}

/** The error as the commands tell it; the engine's own is its cause. */
export function codedOf(error: WasmError, message = error.message): CodedError {
  return new CodedError(CODE_OF[error.code], message, { cause: error });
}

export const RESERVED = 'palisade:';
export const RESERVED_REMEDY =
  'Give the module as it was before it was metered; if it never was, rename what it exports.';

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
