import { CODES, type Code } from '@palisade/sdk';
import type { WasmError, WasmErrorCode } from '@palisade/wasm';

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

/** How the names begin that the meter exports; no module may have one of its own. */
export const RESERVED = 'palisade:';
export const RESERVED_REMEDY =
  'Give the module as it was before it was metered; if it never was, rename what it exports.';
