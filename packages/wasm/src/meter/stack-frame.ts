/** How much of the stack an activation of a function is counted for. */
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
 * What a frame takes in V8's simplest code, at most: its values and operands, and the space for arguments and results;
 * and a share of what it may take in the optimised one. A small function that calls nothing is left out.
 */
export function frameUnits(trace: Trace, slots: number, bodyBytes: number): number {
  const width = trace.usesVectors ? 16 : 8;
  const all = slots + trace.mostHeight + trace.mostCarried + 1 + hiddenSlots(trace.values, bodyBytes);
  const bytes = FRAME_BYTES + width * all;
  return trace.hasCalls || bytes > UNCOUNTED_FRAME_BYTES ? stackUnits(bytes) : 0;
}

/** The share of hidden values: what V8 computes once and keeps, of the function's own operators and of inlined ones. */
function hiddenSlots(values: number, bodyBytes: number): number {
  const inlined = Math.min(bodyBytes, MOST_BYTES_WITH_VALUES) / BYTES_PER_VALUE;
  return Math.ceil((values + inlined) / VALUES_PER_SLOT);
}
