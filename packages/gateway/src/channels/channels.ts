/*
 * How running calls of one tenant send messages to each other: named channels inside this process. A call joins the
 * channels that were granted to it; from then on it has a queue on each channel it may receive from, until it leaves. A
 * message goes to every queue on the channel at that time, including the sender's, in the order of publishing.
 *
 * Tenants, grants and senders come from the gateway and are trusted; the message is bytes of a guest that are not read
 * here. Tenants share nothing. A subscriber that does not receive misses messages and learns how many; it never delays
 * the others, and its memory is bounded. Nothing here is durable, and this module has no timer except that of a wait,
 * no file and no socket.
 */
import { CAPABILITY_NAME_SHAPE, isCapabilityName } from '../core/wasm.ts';
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

export class Channels {
  readonly #tenants = new Map<string, TenantChannels>();
  readonly #joined = new Set<CallChannels>();

  /** The channels of one call; null, without any effect, when the tenant has too many channels or subscribers. */
  join({ tenant, sender, publish, receive }: ChannelTerms): CallChannels | null {
    for (const name of [...publish, ...receive]) checkName(name);
    const channels = this.#tenants.get(tenant) ?? new TenantChannels();
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

  /** Delivers a message to all current subscribers; for the gateway itself, as calls use their own channels. */
  publish(tenant: string, channel: string, message: Uint8Array, sender: Sender): Published {
    // Boundary: one message must not fill a queue.
    if (message.byteLength > CHANNEL_LIMITS.messageBytes) return 'too-large';
    // Boundary: a copy, taken now: the memory of a guest can change under the reader.
    return this.#tenants.get(tenant)?.deliver(channel, new Uint8Array(message), sender) ?? 'ok';
  }

  close(): void {
    for (const joined of [...this.#joined]) joined.close();
  }

  #forgetIfEmpty(tenant: string): void {
    // The current ones: those of a call without queues may be gone, and others created since.
    if (this.#tenants.get(tenant)?.isEmpty()) this.#tenants.delete(tenant);
  }
}

function checkName(name: string): void {
  if (isCapabilityName(name)) return;
  throw new TypeError(
    `Cannot join a channel: its name is ${JSON.stringify(name)}, expected ${CAPABILITY_NAME_SHAPE}`,
  );
}

/** The channels of one tenant. A channel exists as long as it has a queue. */
class TenantChannels {
  readonly #channels = new Map<string, Set<Queue>>();
  readonly #byteBudget: ByteBudget = { bytes: 0 };
  #subscribers = 0;

  /** A queue on each of these channels, or null without any effect when there would be too many. */
  subscribe(names: ReadonlySet<string>): ReadonlyMap<string, Queue> | null {
    const fresh = [...names].filter((name) => !this.#channels.has(name)).length;
    // Boundary: a call that opens more and more is refused before anything is created.
    if (this.#channels.size + fresh > CHANNEL_LIMITS.channelsPerTenant) return null;
    if (this.#subscribers + names.size > CHANNEL_LIMITS.subscribersPerTenant) return null;
    const queues = new Map<string, Queue>();
    for (const name of names) {
      const queue = new Queue(this.#byteBudget);
      const others = this.#channels.get(name);
      if (others === undefined) this.#channels.set(name, new Set([queue]));
      else others.add(queue);
      queues.set(name, queue);
    }
    this.#subscribers += queues.size;
    return queues;
  }

  /** Closes the queues that `subscribe` returned, once; a channel without a queue is gone. */
  unsubscribe(queues: ReadonlyMap<string, Queue>): void {
    for (const [name, queue] of queues) {
      queue.close();
      const others = this.#channels.get(name);
      others?.delete(queue);
      if (others?.size === 0) this.#channels.delete(name);
    }
    this.#subscribers -= queues.size;
  }

  /** Delivers the message to every queue on the channel; a full one misses it and delays no other. */
  deliver(channel: string, bytes: Uint8Array, sender: Sender): Published {
    const queues = [...(this.#channels.get(channel) ?? [])];
    const taken = queues.filter((queue) => queue.push(bytes, sender)).length;
    return taken > 0 || queues.length === 0 ? 'ok' : 'full';
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
