import type { Message, Published } from './message.ts';
import type { Queue } from './queue.ts';

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
