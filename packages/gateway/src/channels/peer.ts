import { connect, type Socket } from 'node:net';
import { Lines } from '../core/lines.ts';
import type { CarriedMessage } from './carrier.ts';
import { type AnswerFrame, MOST_ANSWER_BYTES, readAnswer, writeCount, writeMessage } from './frames.ts';
import { CHANNEL_LIMITS } from './queue.ts';

/*
 * The way to one other process: a connection to its socket, made when something is sent. Nothing here waits for that
 * process. What it has not read yet is bounded for each tenant like the queue of a subscriber; what is beyond that is
 * counted, and the process is told with the next message that it takes.
 */

/** How long a process may take to answer a question. */
const ANSWER_MS = 1_000;

/** What is on its way for one tenant. */
type OnWay = { messages: number; bytes: number };

export class Peer {
  readonly #path: string;
  readonly #onGone: (code: string) => void;
  #socket: Socket | null = null;
  readonly #onWay = new Map<string, OnWay>();
  /** By tenant and channel. */
  readonly #missed = new Map<string, number>();
  readonly #questions = new Map<number, (answer: AnswerFrame | null) => void>();
  #lastQuestion = 0;

  /** `onGone` is told why a connection could not be made or ended. */
  constructor(path: string, onGone: (code: string) => void) {
    this.#path = path;
    this.#onGone = onGone;
  }

  /** Hands a message on; false where the process is behind, and misses it. */
  send(message: CarriedMessage, ask: number | null = null): boolean {
    const { tenant, channel } = message;
    const name = JSON.stringify([tenant, channel]);
    const missed = this.#missed.get(name) ?? 0;
    const line = Buffer.from(writeMessage(message, missed, ask));
    const onWay = this.#onWay.get(tenant) ?? { messages: 0, bytes: 0 };
    // Boundary: a process that does not read costs this much and no more, and no tenant uses up the share of another.
    const isBehind =
      onWay.messages >= CHANNEL_LIMITS.queueMessages || onWay.bytes + line.length > CHANNEL_LIMITS.queueBytes;
    if (isBehind) {
      this.#missed.set(name, missed + 1);
      return false;
    }
    this.#missed.delete(name);
    this.#onWay.set(tenant, onWay);
    onWay.messages += 1;
    onWay.bytes += line.length;
    this.#open().write(line, (error) => {
      onWay.messages -= 1;
      onWay.bytes -= line.length;
      if (onWay.messages === 0) this.#onWay.delete(tenant);
      if (error) this.#missed.set(name, (this.#missed.get(name) ?? 0) + missed + 1);
    });
    return true;
  }

  /** Hands a message on and waits for what became of it; null where the process does not answer in time. */
  deliver(message: CarriedMessage): Promise<AnswerFrame | null> {
    return this.#ask((ask) => this.send(message, ask));
  }

  count(tenant: string): Promise<AnswerFrame | null> {
    return this.#ask((ask) => {
      this.#open().write(writeCount(tenant, ask));
      return true;
    });
  }

  /** Ends the connection once everything is handed over, at the latest after a while. */
  close(mostMs: number): Promise<void> {
    const socket = this.#socket;
    if (socket === null) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => socket.destroy(), mostMs);
      socket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      socket.end(() => socket.destroy());
    });
  }

  #ask(send: (ask: number) => boolean): Promise<AnswerFrame | null> {
    this.#lastQuestion += 1;
    const ask = this.#lastQuestion;
    return new Promise((resolve) => {
      const settle = (answer: AnswerFrame | null) => {
        clearTimeout(timer);
        this.#questions.delete(ask);
        resolve(answer);
      };
      const timer = setTimeout(() => settle(null), ANSWER_MS);
      this.#questions.set(ask, settle);
      if (!send(ask)) settle(null);
    });
  }

  #open(): Socket {
    if (this.#socket !== null) return this.#socket;
    const socket = connect({ path: this.#path });
    this.#socket = socket;
    let code = '';
    const answers = new Lines(MOST_ANSWER_BYTES, {
      onLine: (line) => this.#take(readAnswer(line)),
      onTooLong: () => socket.destroy(),
    });
    // An open way to another process does not keep this one alive.
    socket.unref();
    socket.on('data', (chunk: Buffer) => answers.push(chunk));
    socket.on('error', (error: Error & { code?: string }) => {
      code = error.code ?? '';
    });
    socket.once('close', () => {
      this.#socket = null;
      for (const settle of [...this.#questions.values()]) settle(null);
      this.#onGone(code);
    });
    return socket;
  }

  #take(answer: AnswerFrame | null): void {
    if (answer === null) this.#socket?.destroy();
    else this.#questions.get(answer.answer)?.(answer);
  }
}
