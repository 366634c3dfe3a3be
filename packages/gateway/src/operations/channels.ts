import * as z from 'zod';
import type { CallChannels } from '../channels/channels.ts';
import { CHANNEL_LIMITS, type ChannelMessage } from '../channels/queue.ts';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Json } from '../core/json.ts';
import { orElse } from '../core/result.ts';
import { CAPABILITY_NAME_SHAPE } from '../core/wasm.ts';
import { publishMessage } from '../invoke/channels.ts';
import { actingOf, requireAdministrativeReader } from './access.ts';
import {
  ADMINISTERS,
  EventStream,
  type OpenedGateway,
  type Operation,
  type OperationContext,
  operation,
  type ServerEvent,
} from './operation.ts';
import { isoTimeText, principalText } from './schema-parts.ts';

/*
 * The channels of a tenant, for its administrators: they hear what its skills send to each other, and skills act on what
 * they publish. Messages are of guests and may be hostile; they are data of events, and whoever shows them makes them
 * inert.
 */

const channelName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/)
  .describe(`The name of the channel: ${CAPABILITY_NAME_SHAPE}.`);
const count = z.int().min(0);

const message = z
  .object({
    at: isoTimeText.describe('When it was received.'),
    sender: z.object({
      principal: principalText,
      skill: z.string().nullable().describe('The skill that published it; null: an operator.'),
    }),
    missed: count.describe(
      'How many messages before it were missed, because they came faster than they were read.',
    ),
    encoding: z
      .enum(['utf-8', 'base64'])
      .describe('How `message` is written: as text where its bytes are UTF-8.'),
    message: z.string(),
  })
  .meta({ id: 'ChannelMessage' });

/** How often it is looked whether the listener may still listen. */
const RECHECK_MS = 5_000;
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const silent = count.describe(
  'Processes of the gateway that did not answer in time; their subscribers are not counted.',
);
const facts = { ...ADMINISTERS, noun: 'channels' } as const;
type Context = OperationContext<OpenedGateway>;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listChannels',
    sentence: 'Lists the channels of the tenant that have subscribers now, in all processes of the gateway.',
    http: { method: 'GET', path: '/v1/channels' },
    input: z.strictObject({}),
    output: {
      schema: z.object({
        channels: z.array(z.object({ channel: channelName, subscribers: count })),
        silent,
      }),
      sentence: 'The channels, by name.',
    },
    handle: (context) => {
      requireAdministrativeReader(context);
      return context.gateway.channels.list(context.caller.tenant);
    },
  }),
  operation({
    ...facts,
    name: 'publishMessage',
    sentence:
      'Publishes a message on a channel; the body is the message, to the byte. Its digest is recorded.',
    http: {
      method: 'POST',
      path: '/v1/channels/{channel}/messages',
      bytes: { member: 'message', maxBytes: CHANNEL_LIMITS.messageBytes },
    },
    input: z.strictObject({ channel: channelName, message: z.instanceof(Uint8Array) }),
    output: {
      schema: z.object({
        channel: channelName,
        bytes: count,
        taken: count.describe('How many subscribers took it.'),
        full: count.describe('How many missed it, because their queues are full.'),
        silent,
      }),
      sentence: 'Who got it. A message without a subscriber is lost.',
    },
    handle: async (context, { channel, message: bytes }) => {
      const { gateway, door, caller } = context;
      const about = { ...actingOf(context), door, credential: caller.credential };
      const delivered = await publishMessage(gateway, { ...about, channel, message: bytes });
      return { channel, bytes: bytes.byteLength, ...delivered };
    },
  }),
  operation({
    ...facts,
    name: 'listenToChannel',
    sentence:
      'Follows the messages on a channel: an event `listening`, then `message` for each that is published from then on.',
    http: { method: 'GET', path: '/v1/channels/{channel}/live' },
    input: z.strictObject({ channel: channelName }),
    output: {
      type: 'text/event-stream',
      sentence:
        'One event for each message, until the client goes. A slow reader misses messages and learns how many.',
      events: z
        .discriminatedUnion('event', [
          z.object({ event: z.literal('listening'), data: z.object({ channel: channelName }) }),
          z.object({ event: z.literal('message'), data: message }),
        ])
        .meta({ id: 'ChannelEvent' }),
    },
    handle: (context, { channel }) => {
      requireAdministrativeReader(context);
      return new EventStream(listen(context, channel));
    },
  }),
];

function join({ gateway, caller }: Context, channel: string): CallChannels {
  const { principal, tenant } = caller;
  const sender = { principal, skill: null };
  const joined = gateway.channels.join({ tenant, sender, publish: [], receive: [channel] });
  if (joined !== null) return joined;
  throw new CodedError(
    'door/rate-limited',
    `Cannot listen to "${channel}": tenant "${tenant}" has too many subscribers, expected at most ${CHANNEL_LIMITS.subscribersPerTenant}`,
  );
}

/** Joins when the first event is wanted: a stream that no one reads leaves no subscription. */
async function* listen(context: Context, channel: string): AsyncGenerator<ServerEvent> {
  const { signal, gateway } = context;
  const { clock } = gateway;
  let checkedAtMs = clock.monotonicMs();
  const joined = join(context, channel);
  try {
    yield { event: 'listening', data: { channel } };
    while (!signal.aborted) {
      const received = await joined.wait(channel, signal, RECHECK_MS);
      // Boundary: a listener whose permission has ended gets no further message, although its connection is open.
      if (clock.monotonicMs() - checkedAtMs >= RECHECK_MS) {
        await context.recheck?.();
        requireAdministrativeReader(context);
        checkedAtMs = clock.monotonicMs();
      }
      if (received === 'denied') return;
      if (received !== null) yield { event: 'message', data: messageDocument(gateway, received) };
    }
  } finally {
    joined.close();
  }
}

function messageDocument({ clock, redact }: OpenedGateway, { bytes, sender, missed }: ChannelMessage): Json {
  const { kind, name } = sender.principal;
  const text = orElse(() => DECODER.decode(bytes), null);
  return {
    at: isoTime(clock.nowMs()),
    sender: { principal: `${kind}:${name}`, skill: sender.skill },
    missed,
    ...(text === null
      ? { encoding: 'base64', message: Buffer.from(bytes).toString('base64') }
      : { encoding: 'utf-8', message: redact(text) }),
  };
}
