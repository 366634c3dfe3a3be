import { formatPrincipal, parsePrincipal } from '../core/principal.ts';
import { orElse } from '../core/result.ts';
import { isCapabilityName } from '../core/wasm.ts';
import type { CarriedMessage, ChannelCount, Delivery } from './carrier.ts';
import { CHANNEL_LIMITS } from './queue.ts';

/*
 * The lines between two processes of a state directory. One publishes and asks, the other delivers and answers; a
 * question has a number, by which its answer is known.
 */

export type CarriedFrame =
  | {
      readonly kind: 'message';
      readonly message: CarriedMessage;
      /** Messages on this channel that could not be handed over before this one. */
      readonly missed: number;
      /** Null: no answer is wanted. */
      readonly ask: number | null;
    }
  | { readonly kind: 'count'; readonly tenant: string; readonly ask: number };

export type AnswerFrame = {
  readonly answer: number;
  readonly delivery?: Delivery;
  readonly channels?: readonly ChannelCount[];
};

/** A message in base64 with everything beside it. */
export const MOST_LINE_BYTES = 2 * CHANNEL_LIMITS.messageBytes;
/** The subscribers of all channels of a tenant. */
export const MOST_ANSWER_BYTES = 256 * CHANNEL_LIMITS.channelsPerTenant;

export function writeMessage(
  { tenant, channel, bytes, sender }: CarriedMessage,
  missed: number,
  ask: number | null,
): string {
  const { principal, skill } = sender;
  const text = Buffer.from(bytes).toString('base64');
  return `${JSON.stringify({ kind: 'message', tenant, channel, as: formatPrincipal(principal), skill, missed, ask, text })}\n`;
}

export function writeCount(tenant: string, ask: number): string {
  return `${JSON.stringify({ kind: 'count', tenant, ask })}\n`;
}

export function writeAnswer(answer: AnswerFrame): string {
  return `${JSON.stringify(answer)}\n`;
}

type Fields = Readonly<Record<string, unknown>>;

/** Boundary: whatever writes to the socket is read strictly; null for anything that no process of ours writes. */
export function readFrame(line: Uint8Array): CarriedFrame | null {
  const fields = fieldsOf(line);
  if (fields === null) return null;
  const { kind, tenant, ask } = fields;
  if (typeof tenant !== 'string' || tenant === '') return null;
  if (kind === 'count') return isCount(ask) ? { kind, tenant, ask } : null;
  if (kind !== 'message' || !(ask === null || isCount(ask))) return null;
  return readMessage(fields, tenant, ask);
}

function readMessage(fields: Fields, tenant: string, ask: number | null): CarriedFrame | null {
  const { channel, as, skill, missed, text } = fields;
  const principal = typeof as === 'string' ? parsePrincipal(as) : null;
  if (typeof channel !== 'string' || !isCapabilityName(channel) || principal === null) return null;
  if (!(skill === null || typeof skill === 'string') || !isCount(missed) || typeof text !== 'string')
    return null;
  const bytes = new Uint8Array(Buffer.from(text, 'base64'));
  if (bytes.byteLength > CHANNEL_LIMITS.messageBytes) return null;
  return { kind: 'message', message: { tenant, channel, bytes, sender: { principal, skill } }, missed, ask };
}

/** The same for answers. */
export function readAnswer(line: Uint8Array): AnswerFrame | null {
  const { answer, delivery, channels } = fieldsOf(line) ?? {};
  if (!isCount(answer)) return null;
  if (Array.isArray(channels)) return channels.every(isChannelCount) ? { answer, channels } : null;
  const { taken, full } = (delivery ?? {}) as Partial<Delivery>;
  return isCount(taken) && isCount(full) ? { answer, delivery: { taken, full } } : null;
}

function isChannelCount(raw: unknown): raw is ChannelCount {
  const { channel, subscribers } = (raw ?? {}) as Partial<ChannelCount>;
  return typeof channel === 'string' && isCapabilityName(channel) && isCount(subscribers);
}

function fieldsOf(line: Uint8Array): Fields | null {
  const value: unknown = orElse(() => JSON.parse(Buffer.from(line).toString('utf8')), null);
  return typeof value === 'object' && value !== null ? (value as Fields) : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
