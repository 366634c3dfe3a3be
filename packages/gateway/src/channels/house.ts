import { CHANNEL_LIMITS } from './limits.ts';
import type { Published, Sender } from './message.ts';
import { type Purse, Queue } from './queue.ts';

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
