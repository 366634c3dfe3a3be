/*
 * How running calls and operators of one tenant send messages to each other: named channels. A call joins the channels
 * that were granted to it; from then on it has a queue on each channel it may receive from, until it leaves. A message
 * goes to every queue on the channel at that time, including the sender's, in the order of publishing; a carrier brings
 * it to the queues of other processes, in the order of each publisher.
 *
 * Tenants, grants and senders come from the gateway and are trusted; the message is bytes of a guest that are not read
 * here. Tenants share nothing. A subscriber that does not receive misses messages and learns how many; it never delays
 * the others, and its memory is bounded. Nothing here is durable.
 */
import { CAPABILITY_NAME_SHAPE, isCapabilityName } from '../core/wasm.ts';
import type { Answers, CarriedMessage, Carrier, ChannelCount, Delivery, OpenCarrier } from './carrier.ts';
import {
  type ByteBudget,
  CHANNEL_LIMITS,
  type ChannelMessage,
  type Published,
  Queue,
  type Sender,
} from './queue.ts';

export type ChannelTerms = {
  readonly tenant: string;
  readonly sender: Sender;
  readonly publish: readonly string[];
  readonly receive: readonly string[];
};

/** What became of a message in all processes; `silent` ones did not tell in time. */
export type Delivered = Delivery & { readonly silent: number };

export type ChannelCounts = { readonly channels: readonly ChannelCount[]; readonly silent: number };

const NOWHERE: Carrier = {
  subscribe: () => undefined,
  unsubscribe: () => undefined,
  publish: () => NOT_DELIVERED,
  deliver: async () => ({ answers: [], silent: 0 }),
  count: async () => ({ answers: [], silent: 0 }),
  close: async () => undefined,
};
const NOT_DELIVERED: Delivery = { taken: 0, full: 0 };

export class Channels {
  readonly #tenants = new Map<string, TenantChannels>();
  readonly #joined = new Set<CallChannels>();
  readonly #carrier: Carrier;

  /** Without a carrier, the channels are those of this process alone. */
  constructor(openCarrier: OpenCarrier = () => NOWHERE) {
    this.#carrier = openCarrier({
      deliver: (message, missed) => this.#deliver(message, missed),
      count: (tenant) => this.#tenants.get(tenant)?.counts() ?? [],
    });
  }

  /** The channels of one call; null, without any effect, when the tenant has too many channels or subscribers. */
  join({ tenant, sender, publish, receive }: ChannelTerms): CallChannels | null {
    for (const name of [...publish, ...receive]) checkName(name);
    const channels = this.#tenants.get(tenant) ?? new TenantChannels(tenant, this.#carrier);
    const queues = channels.subscribe(new Set(receive));
    if (queues === null) return null;
    if (queues.size > 0) this.#tenants.set(tenant, channels);
    const joined: CallChannels = new CallChannels({
      publish: new Set(publish),
      queues,
      send: (channel, message) => this.publish(tenant, channel, message, sender),
      leave: () => {
        channels.unsubscribe(queues);
        this.#forgetIfEmpty(tenant);
        this.#joined.delete(joined);
      },
    });
    this.#joined.add(joined);
    return joined;
  }

  /** Sends a message to all current subscribers, without waiting for any. */
  publish(tenant: string, channel: string, bytes: Uint8Array, sender: Sender): Published {
    const message = messageOf(tenant, channel, bytes, sender);
    if (message === null) return 'too-large';
    const [here, elsewhere] = [this.#deliver(message), this.#carrier.publish(message)];
    const taken = here.taken + elsewhere.taken;
    return taken > 0 || here.full + elsewhere.full === 0 ? 'ok' : 'full';
  }

  /** The same, and tells what became of it: for operators, who can wait a moment. */
  async deliver(
    tenant: string,
    channel: string,
    bytes: Uint8Array,
    sender: Sender,
  ): Promise<Delivered | 'too-large'> {
    checkName(channel);
    const message = messageOf(tenant, channel, bytes, sender);
    if (message === null) return 'too-large';
    const asking = this.#carrier.deliver(message);
    const here = this.#deliver(message);
    const { answers, silent } = await asking;
    const sum = (what: keyof Delivery) => answers.reduce((total, each) => total + each[what], here[what]);
    return { taken: sum('taken'), full: sum('full'), silent };
  }

  /** The channels of a tenant that have subscribers, in all processes, by name. */
  async list(tenant: string): Promise<ChannelCounts> {
    const { answers, silent }: Answers<readonly ChannelCount[]> = await this.#carrier.count(tenant);
    const totals = new Map<string, number>();
    for (const { channel, subscribers } of [
      ...(this.#tenants.get(tenant)?.counts() ?? []),
      ...answers.flat(),
    ])
      totals.set(channel, (totals.get(channel) ?? 0) + subscribers);
    const channels = [...totals].map(([channel, subscribers]) => ({ channel, subscribers }));
    return { channels: channels.sort((a, b) => (a.channel < b.channel ? -1 : 1)), silent };
  }

  /** Ends every subscription at once; resolves when what was published is handed over. */
  close(): Promise<void> {
    for (const joined of [...this.#joined]) joined.close();
    return this.#carrier.close();
  }

  #deliver({ tenant, channel, bytes, sender }: CarriedMessage, missed = 0): Delivery {
    const channels = this.#tenants.get(tenant);
    return channels?.deliver(channel, { bytes, sender }, missed) ?? NOT_DELIVERED;
  }

  #forgetIfEmpty(tenant: string): void {
    // The current ones: those of a call without queues may be gone, and others created since.
    if (this.#tenants.get(tenant)?.isEmpty()) this.#tenants.delete(tenant);
  }
}

function messageOf(
  tenant: string,
  channel: string,
  bytes: Uint8Array,
  sender: Sender,
): CarriedMessage | null {
  // Boundary: one message must not fill a queue.
  if (bytes.byteLength > CHANNEL_LIMITS.messageBytes) return null;
  // Boundary: a copy, taken now: the memory of a guest can change under the reader.
  return { tenant, channel, bytes: new Uint8Array(bytes), sender };
}

function checkName(name: string): void {
  if (isCapabilityName(name)) return;
  throw new TypeError(
    `Cannot join a channel: its name is ${JSON.stringify(name)}, expected ${CAPABILITY_NAME_SHAPE}`,
  );
}

/** The channels of one tenant. A channel exists as long as it has a queue. */
class TenantChannels {
  readonly #tenant: string;
  readonly #carrier: Carrier;
  readonly #channels = new Map<string, Set<Queue>>();
  readonly #byteBudget: ByteBudget = { bytes: 0 };
  #subscribers = 0;

  constructor(tenant: string, carrier: Carrier) {
    this.#tenant = tenant;
    this.#carrier = carrier;
  }

  /** A queue on each of these channels, or null without any effect when there would be too many. */
  subscribe(names: ReadonlySet<string>): ReadonlyMap<string, Queue> | null {
    const fresh = [...names].filter((name) => !this.#channels.has(name)).length;
    // Boundary: a call that opens more and more is refused before anything is created.
    if (this.#channels.size + fresh > CHANNEL_LIMITS.channelsPerTenant) return null;
    if (this.#subscribers + names.size > CHANNEL_LIMITS.subscribersPerTenant) return null;
    const queues = new Map<string, Queue>();
    try {
      for (const name of names) queues.set(name, this.#open(name));
    } catch (error) {
      // Nothing is joined by half.
      this.unsubscribe(queues);
      throw error;
    }
    return queues;
  }

  #open(channel: string): Queue {
    const others = this.#channels.get(channel);
    if (others === undefined) this.#carrier.subscribe({ tenant: this.#tenant, channel });
    const queue = new Queue(this.#byteBudget);
    if (others === undefined) this.#channels.set(channel, new Set([queue]));
    else others.add(queue);
    this.#subscribers += 1;
    return queue;
  }

  /** Closes the queues that `subscribe` returned, once; a channel without a queue is gone. */
  unsubscribe(queues: ReadonlyMap<string, Queue>): void {
    for (const [name, queue] of queues) {
      queue.close();
      const others = this.#channels.get(name);
      others?.delete(queue);
      if (others?.size !== 0) continue;
      this.#channels.delete(name);
      this.#carrier.unsubscribe({ tenant: this.#tenant, channel: name });
    }
    this.#subscribers -= queues.size;
  }

  /** Delivers the message to every queue on the channel; a full one misses it and delays no other. */
  deliver(
    channel: string,
    { bytes, sender }: Pick<CarriedMessage, 'bytes' | 'sender'>,
    missed: number,
  ): Delivery {
    const queues = [...(this.#channels.get(channel) ?? [])];
    if (missed > 0) for (const queue of queues) queue.miss(missed);
    const taken = queues.filter((queue) => queue.push(bytes, sender)).length;
    return { taken, full: queues.length - taken };
  }

  counts(): readonly ChannelCount[] {
    return [...this.#channels].map(([channel, queues]) => ({ channel, subscribers: queues.size }));
  }

  isEmpty(): boolean {
    return this.#subscribers === 0;
  }
}

type CallChannelsOptions = {
  readonly publish: ReadonlySet<string>;
  readonly queues: ReadonlyMap<string, Queue>;
  readonly send: (channel: string, message: Uint8Array) => Published;
  readonly leave: () => void;
};

/** A running call's access to the channels that were granted to it, until they are closed. */
export class CallChannels {
  readonly #options: CallChannelsOptions;
  #isClosed = false;

  constructor(options: CallChannelsOptions) {
    this.#options = options;
  }

  /** Delivers a copy of the message to all current queues on the channel. */
  publish(channel: string, message: Uint8Array): Published | 'denied' {
    // Boundary: a guest names the channel; only granted names have any effect.
    if (this.#isClosed || !this.#options.publish.has(channel)) return 'denied';
    return this.#options.send(channel, message);
  }

  receive(channel: string): ChannelMessage | null | 'denied' {
    const queue = this.#queueOf(channel);
    return queue === null ? 'denied' : queue.take();
  }

  /** The next message; null when the time is up, the signal fires or the channels are closed. */
  async wait(channel: string, signal: AbortSignal, ms: number): Promise<ChannelMessage | null | 'denied'> {
    const queue = this.#queueOf(channel);
    return queue === null ? 'denied' : queue.wait(signal, ms);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.leave();
  }

  #queueOf(channel: string): Queue | null {
    return this.#isClosed ? null : (this.#options.queues.get(channel) ?? null);
  }
}
