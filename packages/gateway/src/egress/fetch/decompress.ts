import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { quote } from '../../core/hostile-text.ts';
import { type Field, tokensOf } from '../proxy/fields.ts';
import { Collector } from './collector.ts';
import { FETCH_BOUNDS, type FetchLimits } from './fetch-limits.ts';
import { type Failure, fail, give, type Result } from './outcome.ts';

export type Coding = 'identity' | 'gzip' | 'deflate' | 'br';
export type BodyLimits = Pick<FetchLimits, 'responseBytes' | 'expansion'>;

/** Takes a body as it was sent, piece by piece, and gives it as it was meant. */
export type Decoder = {
  readonly write: (piece: Buffer) => Promise<Failure | null>;
  readonly end: () => Promise<Result<Uint8Array>>;
  /** To be called in any case. */
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
export function codingOf(fields: readonly Field[]): Result<Coding> {
  const codings = tokensOf(fields, 'content-encoding', 'response');
  if (!codings.ok) return fail('malformed', codings.why);
  const [name = 'identity', second] = codings.value;
  const coding = Object.hasOwn(CODINGS, name) ? CODINGS[name] : undefined;
  // Boundary: a bomb inside a bomb is smaller than any ratio would tell.
  if (coding !== undefined && second === undefined) return give(coding);
  return refuseBody(`its encoding is ${quote(codings.value.join(', '))}`, 'one of gzip, deflate and br');
}

export function newDecoder(coding: Coding, limits: BodyLimits): Decoder {
  return coding === 'identity' ? newPlainDecoder(limits) : new StreamDecoder(STREAMS[coding](), limits);
}

function newPlainDecoder({ responseBytes }: BodyLimits): Decoder {
  const collector = new Collector(responseBytes);
  return {
    write: async (piece) => (collector.add(piece) ? null : tooLong(responseBytes)),
    end: async () => give(collector.bytes()),
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
  #failure: Failure | null = null;
  #isEnded = false;
  /** Wakes who waits for the stream. */
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

  async write(piece: Buffer): Promise<Failure | null> {
    if (piece.length === 0) return this.#failure;
    this.#taken += piece.length;
    if (this.#failure !== null || this.#isEnded) return this.#failure ?? refuseRest();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#stream.write(piece, () => resolve());
    });
    return this.#failure;
  }

  async end(): Promise<Result<Uint8Array>> {
    // Many servers name an encoding for a body that is not there.
    if (this.#taken === 0) return give(this.#collector.bytes());
    if (this.#failure === null && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#stream.end();
      });
    }
    if (this.#failure !== null) return this.#failure;
    // Boundary: nothing is hidden behind the end of what is decompressed.
    return this.#stream.bytesWritten === this.#taken ? give(this.#collector.bytes()) : refuseRest();
  }

  destroy(): void {
    this.#stream.destroy();
  }

  #take(piece: Buffer): void {
    if (this.#failure !== null) return;
    const { responseBytes, expansion } = this.#limits;
    const length = this.#collector.length + piece.length;
    // Boundary: a bomb ends with the first piece that is too much; the rest of it is neither read nor unpacked.
    if (!this.#collector.add(piece)) this.#fail(tooLong(responseBytes));
    else if (length > FETCH_BOUNDS.freeBytes && length > this.#taken * expansion)
      this.#fail(fail('too-large', `${CANNOT}: it explodes, expected at most ${expansion} bytes for one`));
  }

  #fail(failure: Failure): void {
    this.#failure ??= failure;
    this.#stream.destroy();
    this.#wake();
  }
}

const CANNOT = 'Cannot read body of response';

function tooLong(most: number): Failure {
  return fail('too-large', `${CANNOT}: it is too long, expected at most ${most} bytes`);
}

function refuseRest(): Failure {
  return refuseBody('something stands behind its end', 'nothing');
}

function refuseBody(is: string, expected: string): Failure {
  return fail('malformed', `${CANNOT}: ${is}, expected ${expected}`);
}
