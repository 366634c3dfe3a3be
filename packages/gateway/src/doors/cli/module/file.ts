import { createHash } from 'node:crypto';
import { DEFAULT_LIMITS, WasmError } from '@palisade/wasm';
import type { CodedError } from '../../../core/coded-error.ts';
import { type Bound, readNamed } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { codedOf } from './errors.ts';

/** A module that was named on the command line, as it lies there. */
export type ModuleFile = { readonly name: string; readonly bytes: Uint8Array; readonly sha256: string };

const BOUND: Bound = { maxBytes: DEFAULT_LIMITS.moduleBytes, refuse: tooLarge };

/** Reads the file of the first argument, or standard input; never more than one byte past the limit. */
export async function readModuleFile(invocation: Invocation): Promise<ModuleFile> {
  const [path = ''] = invocation.args;
  const bytes = await readNamed(invocation, path, BOUND);
  const name = path === '-' ? 'standard input' : path;
  return { name, bytes, sha256: digestOf(bytes) };
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function tooLarge(name: string): CodedError {
  const message = `Cannot read ${name}: it has more than ${DEFAULT_LIMITS.moduleBytes} bytes, expected no more`;
  return codedOf(new WasmError('limit', message, { detail: 'moduleBytes' }));
}
