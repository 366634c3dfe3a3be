import { ByteStore, type Outputs, type StreamName } from './capture.ts';

/** Of standard error, for whoever looks into why a child ended. */
const MOST_KEPT_BYTES = 64 * 1024;

/** The outputs of a child that is talked to: whoever talks to it bounds them, message by message. */
export class Passage implements Outputs {
  /** No amount is too much: nothing is kept of it. */
  readonly isPassed = false;
  readonly #errors = new ByteStore();
  #length = 0;
  #isCut = false;

  get length(): number {
    return this.#length;
  }

  get keptBytes(): number {
    return this.#errors.length;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  take(stream: StreamName, chunk: Uint8Array): Uint8Array {
    this.#length += chunk.length;
    if (stream === 'stderr') this.#keep(chunk);
    return chunk;
  }

  bytes(stream: StreamName): Uint8Array {
    return stream === 'stderr' ? this.#errors.bytes() : new Uint8Array(0);
  }

  #keep(chunk: Uint8Array): void {
    // Boundary: errors are read for as long as the child lives, and only so much of them is kept.
    const kept = chunk.subarray(0, MOST_KEPT_BYTES - this.#errors.length);
    this.#isCut ||= kept.length < chunk.length;
    this.#errors.append(kept);
  }
}
