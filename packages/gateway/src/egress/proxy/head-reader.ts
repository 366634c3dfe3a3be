import { quote } from '../../core/hostile-text.ts';
import { PROXY_BOUNDS } from './proxy-limits.ts';
import { found, type Read, type Refused, turnDown } from './refusal.ts';

/** The lines of a head without their ends and without the empty one, and the bytes that came after it. */
export type Head = { readonly lines: readonly [string, ...string[]]; readonly rest: Buffer };

export type HeadTerms = {
  readonly headBytes: number;
  /** The status for a head that is malformed: that of the client or that of the target. */
  readonly status: 400 | 502;
  /** Judges the first line as soon as it is there, since who speaks another protocol may never send a second. */
  readonly judgeFirst: (line: string) => Refused | null;
};

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;

/** What somebody speaks whose first byte is this. */
const OTHER_PROTOCOLS: Readonly<Record<number, string>> = {
  4: 'SOCKS4',
  5: 'SOCKS5',
  22: 'TLS',
};

/** Collects the lines of one head from any number of pieces. Every line ends in CR LF, and neither stands alone. */
export class HeadReader {
  readonly #terms: HeadTerms;
  readonly #lines: string[] = [];
  #line = '';
  #bytes = 0;
  #sawCr = false;

  constructor(terms: HeadTerms) {
    this.#terms = terms;
  }

  /** Gives the head when the piece completes it and null when more is to come. Nothing may be read afterwards. */
  read(piece: Buffer): Read<Head | null> {
    let start = 0;
    for (const [at, byte] of piece.entries()) {
      this.#bytes += 1;
      // Boundary: what has no end is not collected.
      if (this.#bytes > this.#terms.headBytes)
        return this.#refuseSize(`more than ${this.#terms.headBytes} bytes`);
      const problem = this.#problemWith(byte);
      if (problem !== null) return turnDown(this.#terms.status, `Cannot read head: ${problem}`);
      if (byte === CR) {
        this.#line += piece.toString('latin1', start, at);
        this.#sawCr = true;
      } else if (byte === LF) {
        this.#sawCr = false;
        start = at + 1;
        const ended = this.#endLine(piece.subarray(start));
        if (ended !== null) return ended;
      }
    }
    if (!this.#sawCr) this.#line += piece.toString('latin1', start);
    return found(null);
  }

  #endLine(rest: Buffer): Read<Head> | null {
    const line = this.#line;
    this.#line = '';
    const [first, ...others] = this.#lines;
    if (first === undefined) {
      const refused = this.#terms.judgeFirst(line);
      if (refused !== null) return refused;
    } else if (line === '') return found({ lines: [first, ...others], rest });
    this.#lines.push(line);
    if (this.#lines.length <= PROXY_BOUNDS.fields) return null;
    return this.#refuseSize(`more than ${PROXY_BOUNDS.fields} lines`);
  }

  /** Boundary: programs differ on what ends a line and where a text ends; none of what they differ on passes. */
  #problemWith(byte: number): string | null {
    if (this.#sawCr) return byte === LF ? null : 'a CR stands alone, expected CR LF at the end of a line';
    if (byte === LF) return 'an LF stands alone, expected CR LF at the end of a line';
    if (byte === CR || byte === TAB || (byte >= SPACE && byte !== DELETE)) return null;
    const protocol = this.#bytes === 1 ? OTHER_PROTOCOLS[byte] : undefined;
    if (protocol !== undefined) return `it begins like ${protocol}, expected HTTP/1.1`;
    const name = byte === 0 ? 'a NUL' : `the control character ${quote(byte.toString(16).padStart(2, '0'))}`;
    return `it has ${name}, expected text`;
  }

  #refuseSize(has: string): Refused {
    const status = this.#terms.status === 400 ? 431 : 502;
    return turnDown(status, `Cannot read head: it has ${has}, expected fewer`);
  }
}
