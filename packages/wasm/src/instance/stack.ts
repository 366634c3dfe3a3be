import { WasmError } from '../error.ts';
import { CEILINGS } from '../limits.ts';

/** The machine's stack as an engine hands it out: calls that run inside each other share one. */
export type Stack = {
  readonly wholeBytes: number;
  /** What the running calls took together. */
  takenBytes: number;
};

/** What lies between two guests on the stack, the host function and ours. */
const BETWEEN_BYTES = 4096;

export function newStack(): Stack {
  return { wholeBytes: CEILINGS.stackBytes, takenBytes: 0 };
}

/** What a call may use: what it asks; else the most it may, or half of what the calls around it left if that is less. */
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
