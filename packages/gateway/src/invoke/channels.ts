import type { Delivered } from '../channels/channels.ts';
import { CHANNEL_LIMITS } from '../channels/queue.ts';
import { CodedError } from '../core/coded-error.ts';
import { digestBytes } from '../core/digest.ts';
import { formatPrincipal } from '../core/principal.ts';
import { administer } from './administer.ts';
import type { Gateway } from './gateway.ts';
import type { Acting } from './skills/skill-acts.ts';

type Publishing = Acting & {
  readonly channel: string;
  readonly message: Uint8Array;
  /** How it was asked for. */
  readonly door: 'http' | 'mcp' | 'cli';
  readonly credential: string;
};

/**
 * Publishes a message for an administrator of the tenant. Skills act on what they receive, so that it is recorded first:
 * who sent how much to which channel, with the digest of the message and never the message.
 */
export async function publishMessage(
  gateway: Gateway,
  { by, tenant, channel, message, door, credential }: Publishing,
): Promise<Delivered> {
  const bytes = message.byteLength;
  if (bytes > CHANNEL_LIMITS.messageBytes) throw tooLong(bytes);
  await administer(gateway, { by, tenant }, (tx) => {
    const body = { channel, bytes, sha256: digestBytes(message), door, credential };
    const principal = formatPrincipal(by);
    gateway.journal.append(tx, { kind: 'channel-published', principal, tenant, body });
  });
  const delivered = await gateway.channels.deliver(tenant, channel, message, { principal: by, skill: null });
  if (delivered === 'too-large') throw tooLong(bytes);
  return delivered;
}

function tooLong(bytes: number): CodedError {
  const message = `Cannot publish the message: it has ${bytes} bytes, expected at most ${CHANNEL_LIMITS.messageBytes}`;
  return new CodedError('door/too-large', message);
}
