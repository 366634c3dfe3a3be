/** How many units of stack an activation of a function counts as. */
import {
  BYTES_PER_VALUE,
  FRAME_BYTES,
  MOST_BYTES_WITH_VALUES,
  UNCOUNTED_FRAME_BYTES,
  VALUES_PER_SLOT,
} from '../costs.table.ts';
import { stackUnits } from './plan.ts';
import type { Trace } from './trace.ts';

/**
 * The most that a frame takes in V8's baseline code (values, operands, space for arguments and results) and a share of
 * what it may take in optimised code. A small function that calls nothing is not counted.
 */
export function frameUnits(trace: Trace, slots: number, bodyBytes: number): number {
  const width = trace.usesVectors ? 16 : 8;
  const all = slots + trace.mostHeight + trace.mostCarried + 1 + hiddenSlots(trace.values, bodyBytes);
  const bytes = FRAME_BYTES + width * all;
  return trace.hasCalls || bytes > UNCOUNTED_FRAME_BYTES ? stackUnits(bytes) : 0;
}

/** The share of hidden values: results that V8 may keep, of the function's own operators and of inlined ones. */
function hiddenSlots(values: number, bodyBytes: number): number {
  const inlined = Math.min(bodyBytes, MOST_BYTES_WITH_VALUES) / BYTES_PER_VALUE;
  return Math.ceil((values + inlined) / VALUES_PER_SLOT);
}
