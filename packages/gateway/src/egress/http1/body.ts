import { quote } from '../../core/hostile-text.ts';
import { accept } from '../../core/result.ts';
import { HTTP1_LIMITS } from '../limits.ts';
import { type Framing, type HttpResult, type MessageSide, parseFields, rejectBody } from './fields.ts';

/** Finds the data of a body, piece by piece, and its end. Nothing after the end is ever returned. */
export type BodyReader = {
  readonly read: (piece: Buffer) => HttpResult<readonly Buffer[]>;
  readonly isDone: () => boolean;
};

type State = 'size' | 'data' | 'data-end' | 'trailer' | 'done';
type Rejected = Extract<HttpResult<never>, { ok: false }>;

/** Up to 256 MiB in one chunk; no sender makes a larger one. Extensions may follow the size and are not passed on. */
const SIZE_LINE = /^([0-9A-Fa-f]{1,7})(?:[ \t]*;[\t -~]*)?$/;
const CR = 0x0d;
const LF = 0x0a;
const LINE_END = Buffer.from('\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

export function newBodyReader(framing: Framing, side: MessageSide): BodyReader {
  if (framing.kind === 'chunked') return new ChunkedReader(side);
  if (framing.kind === 'close') return { read: (piece) => accept([piece]), isDone: () => false };
  let left = framing.kind === 'length' ? framing.bytes : 0;
  return {
    isDone: () => left === 0,
    read: (piece) => {
      // Boundary: what follows the body is a second request, on which nothing was decided.
      const part = piece.subarray(0, left);
      left -= part.length;
      return accept(part.length === 0 ? [] : [part]);
    },
  };
}

/** Encodes data in our own chunks, so that no chunk of the sender is passed on. */
export function formatChunks(data: readonly Buffer[], isLast: boolean): readonly Buffer[] {
  const chunks = data.flatMap((each) => [Buffer.from(`${each.length.toString(16)}\r\n`), each, LINE_END]);
  return isLast ? [...chunks, LAST_CHUNK] : chunks;
}

/** Decodes a chunked body, and checks each chunk. Trailers are checked and dropped. */
class ChunkedReader implements BodyReader {
  readonly #side: MessageSide;
  #state: State = 'size';
  /** What is left of the chunk. */
  #left = 0;
  /** The line that is being read, with its CR. */
  #line = '';
  #trailers = 0;

  constructor(side: MessageSide) {
    this.#side = side;
  }

  isDone(): boolean {
    return this.#state === 'done';
  }

  /** Returns the data of the next piece of the body. What follows the end of the body is not read. */
  read(piece: Buffer): HttpResult<readonly Buffer[]> {
    const data: Buffer[] = [];
    let at = 0;
    while (at < piece.length && this.#state !== 'done') {
      if (this.#state === 'data') {
        const part = piece.subarray(at, at + this.#left);
        data.push(part);
        at += part.length;
        this.#left -= part.length;
        if (this.#left === 0) this.#state = 'data-end';
        continue;
      }
      const rejected = this.#readByte(piece[at] ?? 0);
      if (rejected !== null) return rejected;
      at += 1;
    }
    return accept(data);
  }

  #readByte(byte: number): Rejected | null {
    const isAfterCr = this.#line.endsWith('\r');
    // Boundary: a line ends in CR LF and in nothing else, or two readers would see two chunks.
    if (isAfterCr !== (byte === LF)) return this.#reject('it has a CR or an LF alone', 'CR LF');
    if (byte === LF) return this.#endLine();
    if (this.#line.length >= HTTP1_LIMITS.chunkLineBytes)
      return this.#reject('a line is too long', `at most ${HTTP1_LIMITS.chunkLineBytes} bytes`);
    this.#line += String.fromCharCode(byte);
    if (this.#state === 'data-end' && byte !== CR)
      return this.#reject('a chunk is longer than its size', 'CR LF behind it');
    return null;
  }

  #endLine(): Rejected | null {
    const line = this.#line.slice(0, -1);
    this.#line = '';
    if (this.#state === 'data-end') this.#state = 'size';
    else if (this.#state === 'size') return this.#readSize(line);
    else if (line === '') this.#state = 'done';
    else return this.#readTrailer(line);
    return null;
  }

  #readSize(line: string): Rejected | null {
    const [whole, size = ''] = SIZE_LINE.exec(line) ?? [];
    if (whole === undefined)
      return this.#reject(`the size of a chunk is ${quote(line)}`, 'a hexadecimal number');
    this.#left = Number.parseInt(size, 16);
    this.#state = this.#left === 0 ? 'trailer' : 'data';
    return null;
  }

  #readTrailer(line: string): Rejected | null {
    this.#trailers += 1;
    if (this.#trailers > HTTP1_LIMITS.headLines)
      return this.#reject('it has too many trailers', `at most ${HTTP1_LIMITS.headLines}`);
    const field = parseFields([line], this.#side);
    return field.ok ? null : field;
  }

  #reject(is: string, expected: string): Rejected {
    return rejectBody(this.#side, is, expected);
  }
}
