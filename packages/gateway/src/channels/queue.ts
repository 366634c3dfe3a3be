import { CHANNEL_LIMITS, type Message, type Sender } from './channels.ts';

/** What all queues of a tenant hold together. */
export type Purse = { bytes: number };

type Waiter = (message: Message | null) => void;

/** The messages that wait for one subscriber of one channel; bounded, and gone once closed. */
export class Queue {
  readonly #purse: Purse;
  #messages: Message[] = [];
  #bytes = 0;
  #missed = 0;
  #isClosed = false;
  readonly #waiters = new Set<Waiter>();

  constructor(purse: Purse) {
    this.#purse = purse;
  }

  /** Takes the message, or counts it as missed and gives false. */
  push(bytes: Uint8Array, sender: Sender): boolean {
    if (!this.#hasRoomFor(bytes)) {
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

  /** The oldest message, or null. */
  take(): Message | null {
    const message = this.#messages.shift();
    if (message === undefined) return null;
    this.#charge(-message.bytes.byteLength);
    return ownCopy(message);
  }

  /** The next message; null when the time is over, the signal fires or the queue is closed. Who waits first is first. */
  wait(signal: AbortSignal, ms: number): Promise<Message | null> {
    if (this.#isClosed || signal.aborted) return Promise.resolve(null);
    const message = this.take();
    // Boundary: a guest gives any number; what is no time at all does not wait.
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

  /** Forgets all messages and ends all waits. */
  close(): void {
    this.#isClosed = true;
    this.#messages = [];
    this.#charge(-this.#bytes);
    for (const end of [...this.#waiters]) end(null);
  }

  #hasRoomFor({ byteLength }: Uint8Array): boolean {
    if (this.#isClosed) return false;
    // Somebody waits: it is handed over and never queued.
    if (this.#waiters.size > 0) return true;
    // Boundary: a subscriber who does not receive costs this much and no more.
    return (
      this.#messages.length < CHANNEL_LIMITS.queueMessages &&
      this.#bytes + byteLength <= CHANNEL_LIMITS.queueBytes &&
      this.#purse.bytes + byteLength <= CHANNEL_LIMITS.tenantBytes
    );
  }

  #charge(bytes: number): void {
    this.#bytes += bytes;
    this.#purse.bytes += bytes;
  }
}

/** Subscribers share what is queued; what is handed out is the receiver's alone. */
function ownCopy(message: Message): Message {
  return { ...message, bytes: new Uint8Array(message.bytes) };
}
