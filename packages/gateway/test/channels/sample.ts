import { onTestFinished } from 'vitest';
import { type CallChannels, Channels, type ChannelTerms } from '../../src/channels/channels.ts';
import type { ChannelMessage } from '../../src/channels/queue.ts';

export const ADA = { principal: { kind: 'agent', name: 'ada' }, skill: 'notebook' } as const;
export const BOB = { principal: { kind: 'agent', name: 'bob' }, skill: null } as const;

/** Channels whose seats and waits end with the test. */
export function openChannels(): Channels {
  const channels = new Channels();
  onTestFinished(() => channels.close());
  return channels;
}

/** A seat that may both publish to and receive from "jobs", unless told otherwise. */
export function sit(channels: Channels, terms: Partial<ChannelTerms> = {}): CallChannels {
  const seat = channels.join({ tenant: 'acme', sender: ADA, publish: ['jobs'], receive: ['jobs'], ...terms });
  if (seat === null) throw new Error('Cannot sit: the tenant has no room');
  return seat;
}

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}

export function textOf(message: ChannelMessage | null | 'denied'): string | null {
  if (message === 'denied') throw new Error('Cannot read message: it was denied');
  return message === null ? null : Buffer.from(message.bytes).toString();
}

/** All that waits on "jobs". */
export function drain(seat: CallChannels): string[] {
  const texts: string[] = [];
  for (let text = textOf(seat.receive('jobs')); text !== null; text = textOf(seat.receive('jobs')))
    texts.push(text);
  return texts;
}
