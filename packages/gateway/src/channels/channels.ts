import { CAPABILITY_NAME_SHAPE, isCapabilityName } from '../core/capability-name.ts';
import type { Principal } from '../core/principal.ts';
import { type Purse, Queue } from './queue.ts';

/*
 * How running calls of one tenant talk to each other: named channels inside this process. A call takes a seat with the
 * channels that were granted to it; from then on it has a queue on each channel it may receive from, until the seat is
 * closed. A message goes to everybody who has a queue on the channel at that moment, the sender included, in the order of
 * publishing.
 *
 * Tenants, grants and senders come from the gateway and are trusted; the message is bytes of a guest that nobody here
 * reads. Tenants share nothing: each has a house of its own. A subscriber who does not receive misses messages and is told
 * how many; it never holds up the others, and the memory it can take is bounded. Nothing here is durable, and this room has
 * no timer but that of a wait, no file and no socket.
 */

export type SeatTerms = {
  readonly tenant: string;
  readonly sender: Sender;
  /** The names of the channels that the call may publish to. */
  readonly publish: readonly string[];
  /** The names of those it receives from. */
  readonly receive: readonly string[];
};

export class Channels {
  readonly #houses = new Map<string, House>();
  readonly #seats = new Set<Seat>();

  /** A seat for one call; null, and nothing is taken, when the tenant has too many channels or subscribers. */
  join({ tenant, sender, publish, receive }: SeatTerms): Seat | null {
    for (const name of [...publish, ...receive]) checkName(name);
    const house = this.#houses.get(tenant) ?? new House();
    const queues = house.subscribe(new Set(receive));
    if (queues === null) return null;
    if (queues.size > 0) this.#houses.set(tenant, house);
    const seat: Seat = new Seat({
      publish: new Set(publish),
      queues,
      send: (channel, message) => this.publish(tenant, channel, message, sender),
      leave: () => {
        house.unsubscribe(queues);
        this.#forgetIfEmpty(tenant);
        this.#seats.delete(seat);
      },
    });
    this.#seats.add(seat);
    return seat;
  }

  /** Hands a message to all who listen now; for the gateway itself, a call publishes by its seat. */
  publish(tenant: string, channel: string, message: Uint8Array, sender: Sender): Published {
    // Boundary: one message must not fill a queue.
    if (message.byteLength > CHANNEL_LIMITS.messageBytes) return 'too-large';
    // Boundary: a copy, taken now: the memory of a guest changes under the reader.
    return this.#houses.get(tenant)?.deliver(channel, new Uint8Array(message), sender) ?? 'ok';
  }

  /** Closes every seat, at the end of the gateway. */
  close(): void {
    for (const seat of [...this.#seats]) seat.close();
  }

  #forgetIfEmpty(tenant: string): void {
    // The house of today: the one that a seat without queues was given may be gone, and another built since.
    if (this.#houses.get(tenant)?.isEmpty()) this.#houses.delete(tenant);
  }
}

function checkName(name: string): void {
  if (isCapabilityName(name)) return;
  throw new TypeError(
    `Cannot join a channel: its name is ${JSON.stringify(name)}, expected ${CAPABILITY_NAME_SHAPE}`,
  );
}

/** The channels of one tenant. A channel is there as long as somebody has a queue on it. */
export class House {
  readonly #channels = new Map<string, Set<Queue>>();
  readonly #purse: Purse = { bytes: 0 };
  #subscribers = 0;

  /** A queue on each of these channels, or null and nothing when there would be too many. */
  subscribe(names: ReadonlySet<string>): ReadonlyMap<string, Queue> | null {
    const fresh = [...names].filter((name) => !this.#channels.has(name)).length;
    // Boundary: who opens more and more is refused before anything is made.
    if (this.#channels.size + fresh > CHANNEL_LIMITS.channelsPerTenant) return null;
    if (this.#subscribers + names.size > CHANNEL_LIMITS.subscribersPerTenant) return null;
    const queues = new Map<string, Queue>();
    for (const name of names) {
      const queue = new Queue(this.#purse);
      const others = this.#channels.get(name);
      if (others === undefined) this.#channels.set(name, new Set([queue]));
      else others.add(queue);
      queues.set(name, queue);
    }
    this.#subscribers += queues.size;
    return queues;
  }

  /** Closes the queues that `subscribe` gave, once; a channel that nobody listens to is gone. */
  unsubscribe(queues: ReadonlyMap<string, Queue>): void {
    for (const [name, queue] of queues) {
      queue.close();
      const others = this.#channels.get(name);
      others?.delete(queue);
      if (others?.size === 0) this.#channels.delete(name);
    }
    this.#subscribers -= queues.size;
  }

  /** Hands the message to everybody on the channel; who has no room misses it and holds up nobody. */
  deliver(channel: string, bytes: Uint8Array, sender: Sender): Published {
    const queues = [...(this.#channels.get(channel) ?? [])];
    const taken = queues.filter((queue) => queue.push(bytes, sender)).length;
    return taken > 0 || queues.length === 0 ? 'ok' : 'full';
  }

  isEmpty(): boolean {
    return this.#subscribers === 0;
  }
}

export type SeatParts = {
  readonly publish: ReadonlySet<string>;
  readonly queues: ReadonlyMap<string, Queue>;
  readonly send: (channel: string, message: Uint8Array) => Published;
  readonly leave: () => void;
};

/** What a running call holds of the channels: those that were granted to it, until the seat is closed. */
export class Seat {
  readonly #parts: SeatParts;
  #isClosed = false;

  constructor(parts: SeatParts) {
    this.#parts = parts;
  }

  /** Hands a copy of the message to all who have a queue on the channel now. */
  publish(channel: string, message: Uint8Array): Published | 'denied' {
    // Boundary: a guest names the channel; only the granted names lead anywhere.
    if (this.#isClosed || !this.#parts.publish.has(channel)) return 'denied';
    return this.#parts.send(channel, message);
  }

  /** The oldest message that waits, or null. */
  receive(channel: string): Message | null | 'denied' {
    const queue = this.#queueOf(channel);
    return queue === null ? 'denied' : queue.take();
  }

  /** The next message; null when the time is over, the signal fires or the seat is closed. */
  async wait(channel: string, signal: AbortSignal, ms: number): Promise<Message | null | 'denied'> {
    const queue = this.#queueOf(channel);
    return queue === null ? 'denied' : queue.wait(signal, ms);
  }

  /** Gives the queues back, with all that waits in them. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#parts.leave();
  }

  #queueOf(channel: string): Queue | null {
    return this.#isClosed ? null : (this.#parts.queues.get(channel) ?? null);
  }
}

/** What channels keep in memory at most. */
export const CHANNEL_LIMITS = {
  messageBytes: 65_536,
  /** Of one subscriber who does not receive. */
  queueMessages: 256,
  queueBytes: 1_048_576,
  /** Of all queues of a tenant: subscribers who sleep must not fill the memory of the gateway. */
  tenantBytes: 67_108_864,
  channelsPerTenant: 1_024,
  subscribersPerTenant: 4_096,
  /** A timer takes no longer time; the deadline of a call ends a wait long before. */
  waitMs: 2_147_483_647,
} as const;

/** Who published. The gateway says so, never the message. */
export type Sender = { readonly principal: Principal; readonly skill: string | null };

export type Message = {
  readonly bytes: Uint8Array;
  readonly sender: Sender;
  /** How many messages right before this one found the queue full. */
  readonly missed: number;
};

/** `ok` also when nobody listens; `full` when nobody of those who listen has room. */
export type Published = 'ok' | 'full' | 'too-large';
