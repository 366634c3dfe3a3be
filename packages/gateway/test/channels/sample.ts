import { onTestFinished } from 'vitest';
import { type CallChannels, Channels, type ChannelTerms } from '../../src/channels/channels.ts';
import type { ChannelMessage } from '../../src/channels/queue.ts';

export const ADA = { principal: { kind: 'agent', name: 'ada' }, skill: 'notebook' } as const;
export const BOB = { principal: { kind: 'agent', name: 'bob' }, skill: null } as const;

/** Channels whose subscriptions and waits end with the test. */
export function openChannels(): Channels {
  const channels = new Channels();
  onTestFinished(() => channels.close());
  return channels;
}

/** A subscription that may publish to and receive from "jobs" by default. */
export function subscribe(channels: Channels, terms: Partial<ChannelTerms> = {}): CallChannels {
  const subscription = channels.join({
    tenant: 'acme',
    sender: ADA,
    publish: ['jobs'],
    receive: ['jobs'],
    ...terms,
  });
  if (subscription === null) throw new Error('Cannot subscribe: the tenant has too many subscribers');
  return subscription;
}

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}

export function textOf(message: ChannelMessage | null | 'denied'): string | null {
  if (message === 'denied') throw new Error('Cannot read message: it was denied');
  return message === null ? null : Buffer.from(message.bytes).toString();
}

/** All that waits on "jobs". */
export function drain(subscription: CallChannels): string[] {
  const texts: string[] = [];
  for (
    let text = textOf(subscription.receive('jobs'));
    text !== null;
    text = textOf(subscription.receive('jobs'))
  )
    texts.push(text);
  return texts;
}
