import { type Cipher, createCipheriv } from 'node:crypto';
import type { CallHead } from '../engine-words.ts';
import type { Printed } from './printed.ts';

const NO_BYTES = new Uint8Array(0);

/** What one call keeps beside its guest. */
export type CallContext = {
  readonly head: CallHead;
  /** The answer of bytes that waits to be fetched. */
  result: Uint8Array;
  /** What the tool reported as its failure. */
  failure: Uint8Array | null;
  logBytesLeft: number;
  isLogCut: boolean;
  /** Made when the first bytes are asked for: most calls ask for none. */
  random: Cipher | null;
  /** What a component prints, by stream; made with the first bytes. */
  readonly printed: { stdout?: Printed; stderr?: Printed };
};

export function newCallContext(head: CallHead): CallContext {
  return {
    head,
    result: NO_BYTES,
    failure: null,
    logBytesLeft: head.limits.logBytes,
    isLogCut: false,
    random: null,
    printed: {},
  };
}

/** The source of a call's random bytes: the same bytes for the same seed. */
export function randomOf(context: CallContext): Cipher {
  context.random ??= createCipheriv('aes-256-ctr', Buffer.from(context.head.seed, 'hex'), Buffer.alloc(16));
  return context.random;
}
