import { VALUES_PER_SLOT } from '../costs.table.ts';
import { WasmError } from '../error.ts';
import { CEILINGS, DEFAULT_LIMITS } from '../limits.ts';

/** The machine's stack as an engine allots it: calls that run inside each other share one. */
export type Stack = {
  readonly wholeBytes: number;
  /** What the running calls took together. */
  takenBytes: number;
};

/** What is between two guests on the stack, the host function and ours. */
const BETWEEN_BYTES = 4096;

/** What the thread itself needs: V8's entry, the host's code around the engine. */
const OWN_BYTES = 1024 * 1024;

/**
 * The stack a thread has to have so that no module reaches its end before the count does, whatever V8's optimiser makes
 * of it. Only a module that aims at it takes more than the counted bytes; memory that is not touched costs nothing.
 */
export function threadStackBytes(stackBytes: number = DEFAULT_LIMITS.stackBytes): number {
  return VALUES_PER_SLOT * stackBytes + OWN_BYTES;
}

export function newStack(): Stack {
  return { wholeBytes: CEILINGS.stackBytes, takenBytes: 0 };
}

/** What a call may use: what it requests; else the lesser of its maximum and half of what outer calls left. */
export function shareOf(stack: Stack, askedBytes: number | undefined, mostBytes: number): number {
  const { wholeBytes, takenBytes } = stack;
  if (takenBytes === 0) return askedBytes ?? mostBytes;
  const leftBytes = wholeBytes - takenBytes - BETWEEN_BYTES;
  const shareBytes = askedBytes ?? Math.min(mostBytes, Math.floor(leftBytes / 2));
  // Boundary: all calls together stay where V8's own stack does not end before the counted one.
  if (leftBytes > 0 && shareBytes <= leftBytes) return shareBytes;
  const is = `${takenBytes} of ${wholeBytes} bytes of stack are taken by the calls around it`;
  throw new WasmError('stack', `Cannot call: ${is}, expected ${askedBytes ?? 'some'} to be left`, {
    detail: 'nested',
  });
}

export function takeShare(stack: Stack, bytes: number): void {
  stack.takenBytes += bytes + BETWEEN_BYTES;
}

export function giveBackShare(stack: Stack, bytes: number): void {
  stack.takenBytes -= bytes + BETWEEN_BYTES;
}
