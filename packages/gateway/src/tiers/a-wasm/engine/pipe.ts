import { readSync, writeSync } from 'node:fs';
import { type Frame, type FrameKind, frameLength, frameOf, parseFrame } from './protocol.ts';

const LENGTH_BYTES = 4;

/** The two pipes to and from the gateway. Reading blocks: while a guest waits for its answer, nothing else happens. */
export class GatewayPipe {
  readonly #input: number;
  readonly #output: number;

  constructor(input: number, output: number) {
    this.#input = input;
    this.#output = output;
  }

  send(kind: FrameKind, head: unknown, bytes?: Uint8Array): void {
    const frame = frameOf(kind, head, bytes);
    let written = 0;
    while (written < frame.length) written += writeSync(this.#output, frame, written);
  }

  /** Waits for the next frame; null when the gateway is gone. */
  next(): Frame | null {
    const start = this.#read(Buffer.allocUnsafe(LENGTH_BYTES), 0);
    const length = start === null ? null : frameLength(start);
    if (start === null || length === null) return null;
    const frame = Buffer.allocUnsafe(length);
    start.copy(frame);
    const whole = this.#read(frame, LENGTH_BYTES);
    return whole === null ? null : parseFrame(whole);
  }

  #read(into: Buffer, from: number): Buffer | null {
    let filled = from;
    while (filled < into.length) {
      const count = readSync(this.#input, into, filled, into.length - filled, null);
      if (count === 0) return null;
      filled += count;
    }
    return into;
  }
}
