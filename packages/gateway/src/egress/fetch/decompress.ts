import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { quote } from '../../core/hostile-text.ts';
import { accept, sentenceOf } from '../../core/result.ts';
import { type Field, tokensOf } from '../http1/fields.ts';
import { FETCH_BOUNDS, type FetchLimits } from '../limits.ts';
import { type Fetched, type FetchFailed, fail } from './outcome.ts';

export type Coding = 'identity' | 'gzip' | 'deflate' | 'br';
export type BodyLimits = Pick<FetchLimits, 'responseBytes' | 'expansionRatio'>;

/** Decodes a body piece by piece. */
type Decoder = {
  readonly write: (piece: Buffer) => Promise<FetchFailed | null>;
  readonly end: () => Promise<Fetched<Uint8Array>>;
  /** Must always be called. */
  readonly destroy: () => void;
};

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

export function newDecoder(coding: Coding, limits: BodyLimits): Decoder {
  return coding === 'identity' ? newPlainDecoder(limits) : new StreamDecoder(STREAMS[coding](), limits);
}

function newPlainDecoder({ responseBytes }: BodyLimits): Decoder {
  const collector = new Collector(responseBytes);
  return {
    write: async (piece) => (collector.add(piece) ? null : tooLong(responseBytes)),
    end: async () => accept(collector.bytes()),
    destroy: () => {},
  };
}

type Inflating = ReturnType<(typeof STREAMS)[keyof typeof STREAMS]>;

/** Decompresses at the pace of its writer, so that never more than one piece is under way. */
class StreamDecoder implements Decoder {
  readonly #stream: Inflating;
  readonly #limits: BodyLimits;
  readonly #collector: Collector;
  #taken = 0;
  #failure: FetchFailed | null = null;
  #isEnded = false;
  /** Wakes the code that waits for the stream. */
  #wake = () => {};

  constructor(stream: Inflating, limits: BodyLimits) {
    this.#stream = stream;
    this.#limits = limits;
    this.#collector = new Collector(limits.responseBytes);
    stream.on('data', (piece: Buffer) => this.#take(piece));
    stream.on('error', () => this.#fail(refuseBody('it cannot be decompressed', 'all of it, as it says')));
    stream.on('end', () => {
      this.#isEnded = true;
      this.#wake();
    });
  }

  async write(piece: Buffer): Promise<FetchFailed | null> {
    if (piece.length === 0) return this.#failure;
    this.#taken += piece.length;
    if (this.#failure !== null || this.#isEnded) return this.#failure ?? refuseRest();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#stream.write(piece, () => resolve());
    });
    return this.#failure;
  }

  async end(): Promise<Fetched<Uint8Array>> {
    // Many servers name an encoding for an empty body.
    if (this.#taken === 0) return accept(this.#collector.bytes());
    if (this.#failure === null && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#stream.end();
      });
    }
    if (this.#failure !== null) return this.#failure;
    // Boundary: nothing may follow the end of the compressed data.
    return this.#stream.bytesWritten === this.#taken ? accept(this.#collector.bytes()) : refuseRest();
  }

  destroy(): void {
    this.#stream.destroy();
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
    this.#stream.destroy();
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
