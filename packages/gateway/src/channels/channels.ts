import { CAPABILITY_NAME_SHAPE, isCapabilityName } from '../core/capability-name.ts';
import { House } from './house.ts';
import { CHANNEL_LIMITS } from './limits.ts';
import type { Published, Sender } from './message.ts';
import { Seat } from './seat.ts';

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
