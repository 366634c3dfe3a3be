import type { CallContext } from './call-context.ts';
import type { Channel } from './channel.ts';
import { addLine } from './host-acts.ts';

/** A line that goes on longer is passed on in pieces. */
const MOST_LINE_BYTES = 8 * 1024;
const NEW_LINE = 0x0a;
const NO_BYTES = new Uint8Array(0);

/** What a guest prints to one stream: whole lines go to the log of the call, the rest waits for its end. */
export class Printed {
  readonly #context: CallContext;
  readonly #channel: Channel;
  readonly #level: number;
  #rest: Uint8Array = NO_BYTES;

  constructor(context: CallContext, channel: Channel, level: number) {
    this.#context = context;
    this.#channel = channel;
    this.#level = level;
  }

  add(bytes: Uint8Array): void {
    const text = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let from = 0;
    // Boundary: with the quota used up nothing is looked at any more, so that printing costs no more than its fuel.
    while (from < text.length && !this.#context.isLogCut) {
      const newLine = text.indexOf(NEW_LINE, from);
      const end = newLine === -1 ? text.length : newLine;
      if (end - from > MOST_LINE_BYTES) {
        this.#say(text.subarray(from, from + MOST_LINE_BYTES));
        from += MOST_LINE_BYTES;
        continue;
      }
      if (newLine === -1) break;
      this.#say(text.subarray(from, end));
      from = end + 1;
    }
    this.#rest = this.#context.isLogCut ? NO_BYTES : text.slice(from);
  }

  /** Passes on what no new line came after. */
  end(): void {
    if (this.#rest.length > 0) this.#say(this.#rest);
    this.#rest = NO_BYTES;
  }

  #say(line: Uint8Array): void {
    addLine(this.#context, this.#channel, this.#level, line);
  }
}
