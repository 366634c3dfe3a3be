import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { quote } from '../../core/hostile-text.ts';
import { accept, sentenceOf } from '../../core/result.ts';
import { type Field, tokensOf } from '../http1/fields.ts';
import { FETCH_BOUNDS, type FetchLimits } from '../limits.ts';
import { type Fetched, type FetchFailed, fail } from './outcome.ts';

export type Coding = 'identity' | 'gzip' | 'deflate' | 'br';
export type BodyLimits = Pick<FetchLimits, 'responseBytes' | 'expansionRatio'>;

const STREAMS = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress } as const;
const CODINGS: Readonly<Record<string, Coding>> = {
  identity: 'identity',
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
};

/** The one encoding of a body. */
export function codingOf(fields: readonly Field[]): Fetched<Coding> {
  const codings = tokensOf(fields, 'content-encoding', 'response');
  if (!codings.ok) return fail('malformed', sentenceOf(codings.problem));
  const [name = 'identity', second] = codings.value;
  const coding = Object.hasOwn(CODINGS, name) ? CODINGS[name] : undefined;
  // Boundary: a bomb inside a bomb has a smaller ratio than its real expansion.
  if (coding !== undefined && second === undefined) return accept(coding);
  return refuseBody(`its encoding is ${quote(codings.value.join(', '))}`, 'one of gzip, deflate and br');
}

/** Decodes a body at the pace of its writer, so that never more than one piece is under way. */
export class BodyDecoder {
  /** Null for a body that is not compressed. */
  readonly #stream: ReturnType<(typeof STREAMS)[keyof typeof STREAMS]> | null;
  readonly #limits: BodyLimits;
  readonly #collector: Collector;
  #taken = 0;
  #failure: FetchFailed | null = null;
  #isEnded = false;
  /** Wakes the code that waits for the stream. */
  #wake = () => {};

  constructor(coding: Coding, limits: BodyLimits) {
    this.#limits = limits;
    this.#collector = new Collector(limits.responseBytes);
    this.#stream = coding === 'identity' ? null : STREAMS[coding]();
    this.#stream?.on('data', (piece: Buffer) => this.#take(piece));
    this.#stream?.on('error', () =>
      this.#fail(refuseBody('it cannot be decompressed', 'all of it, as it says')),
    );
    this.#stream?.on('end', () => {
      this.#isEnded = true;
      this.#wake();
    });
  }

  async write(piece: Buffer): Promise<FetchFailed | null> {
    if (piece.length === 0) return this.#failure;
    this.#taken += piece.length;
    if (this.#failure !== null || this.#isEnded) return this.#failure ?? refuseRest();
    const stream = this.#stream;
    if (stream === null) this.#take(piece);
    else
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        stream.write(piece, () => resolve());
      });
    return this.#failure;
  }

  async end(): Promise<Fetched<Uint8Array>> {
    const stream = this.#stream;
    // Many servers name an encoding for an empty body.
    if (stream === null || this.#taken === 0) return this.#failure ?? accept(this.#collector.bytes());
    if (this.#failure === null && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        stream.end();
      });
    }
    if (this.#failure !== null) return this.#failure;
    // Boundary: nothing may follow the end of the compressed data.
    return stream.bytesWritten === this.#taken ? accept(this.#collector.bytes()) : refuseRest();
  }

  /** Must always be called. */
  destroy(): void {
    this.#stream?.destroy();
  }

  #take(piece: Buffer): void {
    if (this.#failure !== null) return;
    const { responseBytes, expansionRatio } = this.#limits;
    const length = this.#collector.length + piece.length;
    // Boundary: a bomb ends with the first piece that is too much; the rest of it is neither read nor unpacked.
    if (!this.#collector.add(piece)) this.#fail(tooLong(responseBytes));
    else if (length > FETCH_BOUNDS.uncheckedBytes && length > this.#taken * expansionRatio)
      this.#fail(
        fail('too-large', `${CANNOT}: it explodes, expected at most ${expansionRatio} bytes for one`),
      );
  }

  #fail(failure: FetchFailed): void {
    this.#failure ??= failure;
    this.#stream?.destroy();
    this.#wake();
  }
}

const CANNOT = 'Cannot use body of response';

function tooLong(most: number): FetchFailed {
  return fail('too-large', `${CANNOT}: it is too long, expected at most ${most} bytes`);
}

function refuseRest(): FetchFailed {
  return refuseBody('it has bytes after its end', 'none');
}

function refuseBody(is: string, expected: string): FetchFailed {
  return fail('malformed', `${CANNOT}: ${is}, expected ${expected}`);
}

const FIRST_BYTES = 16_384;

/**
 * Concatenates pieces, up to a number of bytes. Boundary: pieces are copied into one block, since a target that sends
 * single bytes would otherwise make every one of them hold a whole block of its own.
 */
class Collector {
  readonly #most: number;
  #block: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Takes a piece; false when it does not fit, and then nothing of it is taken. */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.length;
    if (length > this.#most) return false;
    if (length > this.#block.length) this.#grow(length);
    piece.copy(this.#block, this.#length);
    this.#length = length;
    return true;
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.#block.buffer, this.#block.byteOffset, this.#length);
  }

  #grow(length: number): void {
    const block = Buffer.alloc(Math.min(this.#most, Math.max(FIRST_BYTES, length, this.#block.length * 2)));
    this.#block.copy(block, 0, 0, this.#length);
    this.#block = block;
  }
}
