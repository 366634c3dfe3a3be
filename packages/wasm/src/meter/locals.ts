/** The head of a function's body: its declared locals, run by run. */
import { WasmError } from '../error.ts';
import type { Walker } from './walker.ts';

export type Locals = {
  readonly runs: readonly { readonly count: number; readonly type: number }[];
  readonly total: number;
  /** Where the instructions begin. */
  readonly end: number;
};

/** Reads the locals at `start`; refuses more than `most` as soon as there are more. */
export function readLocals(walker: Walker, start: number, end: number, most: number): Locals {
  const runs: { count: number; type: number }[] = [];
  let total = 0;
  let left = walker.readIndex(start);
  // Boundary: each run takes at least two bytes, so a larger count cannot be true.
  if (left * 2 > end - walker.next) throw short(start);
  for (; left > 0; left -= 1) {
    const at = walker.next;
    const count = walker.readIndex(at);
    const type = walker.readValueType(walker.next);
    if (walker.next > end) throw short(at);
    total += count;
    // Boundary: V8 compiles a function of many locals and branches for many seconds.
    if (total > most) {
      throw new WasmError('limit', `Cannot read function: it has ${total} locals, expected at most ${most}`, {
        offset: at,
        detail: 'locals',
      });
    }
    if (count > 0) runs.push({ count, type });
  }
  return { runs, total, end: walker.next };
}

function short(offset: number): WasmError {
  return new WasmError('malformed', 'Cannot read function: its locals end in the middle, expected a body', {
    offset,
  });
}
