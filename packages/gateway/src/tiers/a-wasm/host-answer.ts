import type { DenialWhy } from './denials.table.ts';
import { ABI_ERRORS, type AbiError } from './engine/abi.table.ts';
import type { HostReply } from './engine-process.ts';

/** The longest answer that a guest can get. */
const MOST_ANSWER_BYTES = 32 * 1024 * 1024;
const LENGTH_BYTES = 4;

export function refuseWith(error: AbiError): HostReply {
  return { result: ABI_ERRORS[error].code };
}

/** A refusal that is recorded with its reason. */
export function denyWith(why: DenialWhy, argument: string | null, error: AbiError = 'denied'): HostReply {
  return { ...refuseWith(error), denial: { why, argument } };
}

export const DONE: HostReply = { result: 0 };

/** An answer of bytes, or the refusal of one that is too long. */
export function answerWith(bytes: Uint8Array): HostReply {
  return bytes.length > MOST_ANSWER_BYTES ? refuseWith('tooLarge') : { result: bytes.length, bytes };
}

/** A head of JSON and what follows it, as one answer. */
export function withHead(head: unknown, bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(JSON.stringify(head));
  const joined = Buffer.alloc(LENGTH_BYTES + text.length + bytes.length);
  joined.writeUInt32LE(text.length, 0);
  joined.set(text, LENGTH_BYTES);
  joined.set(bytes, LENGTH_BYTES + text.length);
  return joined;
}
