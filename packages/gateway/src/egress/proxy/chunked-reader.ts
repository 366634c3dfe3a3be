import { quote } from '../../core/hostile-text.ts';
import { parseFields, type Side } from './fields.ts';
import { PROXY_BOUNDS } from './proxy-limits.ts';
import { found, type Read, type Refused, turnDown } from './refusal.ts';

type State = 'size' | 'data' | 'data-end' | 'trailer' | 'done';

/** Up to 256 MiB in one chunk; nobody sends more. Extensions may stand behind the size and are not passed on. */
const SIZE_LINE = /^([0-9A-Fa-f]{1,7})(?:[ \t]*;[\t -~]*)?$/;
const CR = 0x0d;
const LF = 0x0a;

/** Takes the frames off a chunked body, and checks each. Trailers are checked and dropped. */
export class ChunkedReader {
  readonly #side: Side;
  #state: State = 'size';
  /** What is left of the chunk. */
  #left = 0;
  /** The line that is being read, with its CR. */
  #line = '';
  #trailers = 0;

  constructor(side: Side) {
    this.#side = side;
  }

  isDone(): boolean {
    return this.#state === 'done';
  }

  /** Gives the data of the next piece of the body. What stands behind the end of the body is not looked at. */
  read(piece: Buffer): Read<readonly Buffer[]> {
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
      const refused = this.#readByte(piece[at] ?? 0);
      if (refused !== null) return refused;
      at += 1;
    }
    return found(data);
  }

  #readByte(byte: number): Refused | null {
    const isAfterCr = this.#line.endsWith('\r');
    // Boundary: a line ends in CR LF and in nothing else, or two readers would see two frames.
    if (isAfterCr !== (byte === LF)) return this.#refuse('a CR or an LF stands alone in it', 'CR LF');
    if (byte === LF) return this.#endLine();
    if (this.#line.length >= PROXY_BOUNDS.chunkLineBytes)
      return this.#refuse('a line is too long', 'a short one');
    this.#line += String.fromCharCode(byte);
    if (this.#state === 'data-end' && byte !== CR)
      return this.#refuse('a chunk is longer than its size', 'CR LF behind it');
    return null;
  }

  #endLine(): Refused | null {
    const line = this.#line.slice(0, -1);
    this.#line = '';
    if (this.#state === 'data-end') this.#state = 'size';
    else if (this.#state === 'size') return this.#readSize(line);
    else if (line === '') this.#state = 'done';
    else return this.#readTrailer(line);
    return null;
  }

  #readSize(line: string): Refused | null {
    const [whole, size = ''] = SIZE_LINE.exec(line) ?? [];
    if (whole === undefined)
      return this.#refuse(`the size of a chunk is ${quote(line)}`, 'a hexadecimal number');
    this.#left = Number.parseInt(size, 16);
    this.#state = this.#left === 0 ? 'trailer' : 'data';
    return null;
  }

  #readTrailer(line: string): Refused | null {
    this.#trailers += 1;
    if (this.#trailers > PROXY_BOUNDS.fields) return this.#refuse('it has too many trailers', 'fewer');
    const field = parseFields([line], this.#side);
    return field.ok ? null : field;
  }

  #refuse(is: string, expected: string): Refused {
    const status = this.#side === 'request' ? 400 : 502;
    return turnDown(status, `Cannot read body of ${this.#side}: ${is}, expected ${expected}`);
  }
}
