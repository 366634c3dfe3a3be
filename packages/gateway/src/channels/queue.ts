import type { Principal } from '../core/principal.ts';

/** The most that channels keep in memory. */
export const CHANNEL_LIMITS = {
  messageBytes: 65_536,
  /** For one subscriber that does not receive. */
  queueMessages: 256,
  queueBytes: 1_048_576,
  /** For all queues of a tenant: subscribers that do not receive must not fill the memory of the gateway. */
  tenantBytes: 67_108_864,
  channelsPerTenant: 1_024,
  subscribersPerTenant: 4_096,
  /** The longest timer; the deadline of a call ends a wait long before. */
  waitMs: 2_147_483_647,
} as const;

/** Who published, as the gateway knows; never as the message claims. */
export type Sender = { readonly principal: Principal; readonly skill: string | null };

export type ChannelMessage = {
  readonly bytes: Uint8Array;
  readonly sender: Sender;
  /** How many messages right before this one found the queue full. */
  readonly missed: number;
};

/** `ok` even without a subscriber; `full` when every queue on the channel is full. */
export type Published = 'ok' | 'full' | 'too-large';

export type ByteBudget = { bytes: number };

type Waiter = (message: ChannelMessage | null) => void;

/** The waiting messages of one subscriber of one channel; bounded, and dropped once closed. */
export class Queue {
  readonly #byteBudget: ByteBudget;
  #messages: ChannelMessage[] = [];
  #bytes = 0;
  #missed = 0;
  #isClosed = false;
  readonly #waiters = new Set<Waiter>();

  constructor(byteBudget: ByteBudget) {
    this.#byteBudget = byteBudget;
  }

  /** Accepts the message, or counts it as missed and returns false. */
  push(bytes: Uint8Array, sender: Sender): boolean {
    if (!this.#canTake(bytes)) {
      this.#missed += 1;
      return false;
    }
    const message = { bytes, sender, missed: this.#missed };
    this.#missed = 0;
    const [waiter] = this.#waiters;
    if (waiter !== undefined) {
      waiter(ownCopy(message));
      return true;
    }
    this.#messages.push(message);
    this.#charge(bytes.byteLength);
    return true;
  }

  /** Counts messages that could not be carried here from another process. */
  miss(count: number): void {
    this.#missed += count;
  }

  take(): ChannelMessage | null {
    const message = this.#messages.shift();
    if (message === undefined) return null;
    this.#charge(-message.bytes.byteLength);
    return ownCopy(message);
  }

  /** The next message; null when the time is up, the signal fires or the queue is closed. Waiters come in order. */
  wait(signal: AbortSignal, ms: number): Promise<ChannelMessage | null> {
    if (this.#isClosed || signal.aborted) return Promise.resolve(null);
    const message = this.take();
    // Boundary: a guest passes any number; one that is not positive does not wait.
    if (message !== null || !(ms > 0)) return Promise.resolve(message);
    return new Promise((resolve) => {
      const end: Waiter = (ending) => {
        this.#waiters.delete(end);
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        resolve(ending);
      };
      const giveUp = () => end(null);
      const timer = setTimeout(giveUp, Math.min(ms, CHANNEL_LIMITS.waitMs));
      signal.addEventListener('abort', giveUp);
      this.#waiters.add(end);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#messages = [];
    this.#charge(-this.#bytes);
    for (const end of [...this.#waiters]) end(null);
  }

  #canTake({ byteLength }: Uint8Array): boolean {
    if (this.#isClosed) return false;
    // A receiver is waiting: the message is delivered directly and never queued.
    if (this.#waiters.size > 0) return true;
    // Boundary: a subscriber that does not receive costs this much and no more.
    return (
      this.#messages.length < CHANNEL_LIMITS.queueMessages &&
      this.#bytes + byteLength <= CHANNEL_LIMITS.queueBytes &&
      this.#byteBudget.bytes + byteLength <= CHANNEL_LIMITS.tenantBytes
    );
  }

  #charge(bytes: number): void {
    this.#bytes += bytes;
    this.#byteBudget.bytes += bytes;
  }
}

/** Subscribers share what is queued; what is delivered belongs to the receiver alone. */
function ownCopy(message: ChannelMessage): ChannelMessage {
  return { ...message, bytes: new Uint8Array(message.bytes) };
}
