/** What host functions do, whichever way a guest asks: by the numbers of the ABI, or by the types of the world. */
import type { Guest } from '@palisade/wasm';
import { ABI_ERRORS, type AbiName, CAPABILITY_KINDS, type CapabilityKind } from '../abi.table.ts';
import { type AnswerHead, LOG_LINE_BYTES, MOST_ASK_BYTES } from '../engine-words.ts';
import { type CallContext, randomOf } from './call-context.ts';
import type { Channel } from './channel.ts';

const BYTES_PER_FUEL = 8;
const NO_BYTES = new Uint8Array(0);

/** A function of the gateway with its numbers and its texts, each in their order. */
export type Asked = {
  readonly name: AbiName;
  readonly numbers: readonly number[];
  readonly texts: readonly Uint8Array[];
};

/** A length, zero, or an error of the ABI; and the bytes that came with it. */
export type Answer = { readonly result: number; readonly bytes: Uint8Array };

/** Pays for bytes before they are made or copied. */
export function payFor(guest: Guest, bytes: number): void {
  guest.charge(Math.ceil(bytes / BYTES_PER_FUEL));
}

/** Whether a question is longer than any that the gateway would answer. */
export function isTooLong(bytes: number): boolean {
  return bytes > MOST_ASK_BYTES;
}

/** Sends what a guest says to the gateway and waits for the answer, which is paid by its length. */
export function askGateway(guest: Guest, channel: Channel, { name, numbers, texts }: Asked): Answer {
  const lengths = texts.map((text) => text.length);
  // Boundary: the gateway answers everybody, and what it would refuse by its length is not carried to it.
  if (isTooLong(lengths.reduce((sum, length) => sum + length, 0)))
    return { result: ABI_ERRORS.tooLarge.code, bytes: NO_BYTES };
  channel.say('ask', { name, numbers, lengths }, Buffer.concat(texts));
  const answer = channel.next();
  // Boundary: without the gateway there is nobody to do anything for.
  if (answer?.kind !== 'answer') throw new Error('Cannot go on: the gateway has gone');
  const bytes = answer.bytes.length === 0 ? NO_BYTES : answer.bytes;
  payFor(guest, bytes.length);
  return { result: (answer.head as AnswerHead).result, bytes };
}

/** Passes a line on as it comes, as far as the quota of the call goes. */
export function addLine(context: CallContext, channel: Channel, level: number, text: Uint8Array): void {
  const bytes = text.length + LOG_LINE_BYTES;
  // Boundary: a flood ends at the quota, one of empty lines as well, and the record says that it was cut.
  if (bytes > context.logBytesLeft) {
    context.isLogCut = true;
    return;
  }
  context.logBytesLeft -= bytes;
  channel.say('log', { level }, text);
}

/** Puts the next random bytes of the call in place of these. */
export function randomize(context: CallContext, bytes: Uint8Array): Uint8Array {
  return randomOf(context).update(bytes.fill(0));
}

/** A value of the tool's configuration; null where there is none. */
export function configOf({ head: { config } }: CallContext, key: string): string | null {
  return Object.hasOwn(config, key) ? (config[key] ?? '') : null;
}

export function countOf({ head }: CallContext, kind: CapabilityKind): number {
  return head.counts[kind];
}

/** The handle of a capability by its place in the grant; null where there is none. */
export function handleOf(context: CallContext, kind: CapabilityKind, index: number): number | null {
  const isThere = index >= 0 && index < countOf(context, kind);
  return isThere ? CAPABILITY_KINDS[kind].firstHandle + index : null;
}
