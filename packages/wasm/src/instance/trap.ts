import type { WasmErrorCode } from '../error.ts';
import { TRAPS } from './trap.table.ts';

const HEADER = '0061736d01000000';

// This V8's message for each trap; filled when the first trap has to be identified, then never changed.
const learnt = new Map<string, WasmErrorCode>();

/** Which trap V8 ended the guest with; 'trap' for one that no probe shows, undefined for what is not a trap. */
export function classifyTrap(thrown: unknown): WasmErrorCode | undefined {
  // V8 throws a RangeError when a guest overflows the machine's stack, and for nothing else.
  if (isOf(thrown, RangeError)) return 'stack';
  if (!isOf(thrown, WebAssembly.RuntimeError)) return undefined;
  if (learnt.size === 0) learn();
  return learnt.get(thrown.message) ?? 'trap';
}

/** Like `instanceof`, but false for a proxy that throws. */
function isOf<T>(thrown: unknown, kind: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof kind;
  } catch {
    return false;
  }
}

function learn(): void {
  for (const { probe, code } of TRAPS) {
    const message = provoke(probe);
    if (message === undefined) continue;
    // A message shared by two kinds identifies neither.
    const known = learnt.get(message) ?? code;
    learnt.set(message, known === code ? code : 'trap');
  }
}

/** V8's message when the probe runs; undefined when it cannot run here, as when no address space is left. */
function provoke(probe: string): string | undefined {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readHex(HEADER + probe)));
    const { f } = exports;
    if (typeof f === 'function') f();
  } catch (thrown) {
    if (thrown instanceof WebAssembly.RuntimeError) return thrown.message;
  }
  return undefined;
}

function readHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at += 1)
    bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}
