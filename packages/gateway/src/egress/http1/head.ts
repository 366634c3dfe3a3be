import type { Socket } from 'node:net';
import { quote } from '../../core/hostile-text.ts';
import { accept, reject } from '../../core/result.ts';
import { HTTP1_LIMITS } from '../limits.ts';
import { type HttpProblem, type HttpResult, type MessageSide, SIDES } from './fields.ts';

/** The lines of a head without their ends and without the empty one. */
export type HeadLines = readonly [string, ...string[]];

type MessageHead = { readonly lines: HeadLines; readonly rest: Buffer };

type HeadTerms = {
  readonly side: MessageSide;
  readonly headBytes: number;
  /** Checks the first line as soon as it has arrived, since a client of another protocol may never send a second. */
  readonly checkFirst: (line: string) => HttpProblem | null;
};

type ReadHeadTerms = HeadTerms & {
  readonly withinMs: number;
  readonly late: HttpProblem;
  readonly onBytes?: (bytes: number) => void;
};

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;
const LINE_END = 'CR LF at the end of a line';

/** The protocols that begin with this byte. */
const OTHER_PROTOCOLS: Readonly<Record<number, string>> = { 4: 'SOCKS4', 5: 'SOCKS5', 22: 'TLS' };

/**
 * Reads one head from a socket and leaves the socket paused, with what follows the head still to be read. Null when the
 * other side ended before the head did.
 */
export function readHead(socket: Socket, terms: ReadHeadTerms): Promise<HttpResult<HeadLines> | null> {
  const reader = new HeadReader(terms);
  return new Promise((resolve) => {
    const finish = (outcome: HttpResult<HeadLines> | null) => {
      clearTimeout(timer);
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      socket.pause();
      resolve(outcome);
    };
    const onEnd = () => finish(null);
    const onData = (piece: Buffer) => {
      const head = reader.read(piece);
      if (!head.ok) finish(head);
      else if (head.value !== null) {
        finish(accept(head.value.lines));
        terms.onBytes?.(piece.length - head.value.rest.length);
        if (head.value.rest.length > 0) socket.unshift(head.value.rest);
      } else terms.onBytes?.(piece.length);
    };
    // Boundary: the time is for the whole head, so a slow trickle of bytes does not keep a connection open.
    const timer = setTimeout(() => finish(reject(terms.late)), terms.withinMs);
    socket.on('end', onEnd).on('close', onEnd).on('data', onData);
    socket.resume();
  });
}

/** Collects the lines of one head from any number of pieces. Every line ends in CR LF, and neither may occur alone. */
export class HeadReader {
  readonly #terms: HeadTerms;
  readonly #lines: string[] = [];
  #line = '';
  #bytes = 0;
  #sawCr = false;

  constructor(terms: HeadTerms) {
    this.#terms = terms;
  }

  /** Returns the head when the piece completes it, and null otherwise. Nothing may be read afterwards. */
  read(piece: Buffer): HttpResult<MessageHead | null> {
    const { side, headBytes } = this.#terms;
    let start = 0;
    for (const [at, byte] of piece.entries()) {
      this.#bytes += 1;
      // Boundary: what never ends is not buffered.
      if (this.#bytes > headBytes) return this.#rejectSize(headBytes, 'bytes');
      const fault = this.#faultOf(byte);
      if (fault !== null) return reject({ status: SIDES[side].status, subject: `head of ${side}`, ...fault });
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
    return accept(null);
  }

  #endLine(rest: Buffer): HttpResult<MessageHead> | null {
    const line = this.#line;
    this.#line = '';
    const [first, ...others] = this.#lines;
    if (first === undefined) {
      const problem = this.#terms.checkFirst(line);
      if (problem !== null) return reject(problem);
    } else if (line === '') return accept({ lines: [first, ...others], rest });
    this.#lines.push(line);
    return this.#lines.length <= HTTP1_LIMITS.headLines
      ? null
      : this.#rejectSize(HTTP1_LIMITS.headLines, 'lines');
  }

  /** Boundary: programs differ on what ends a line and where a text ends; nothing ambiguous passes. */
  #faultOf(byte: number): Pick<HttpProblem, 'is' | 'expected'> | null {
    if (this.#sawCr) return byte === LF ? null : { is: 'it has a CR alone', expected: LINE_END };
    if (byte === LF) return { is: 'it has an LF alone', expected: LINE_END };
    if (byte === CR || byte === TAB || (byte >= SPACE && byte !== DELETE)) return null;
    const protocol = this.#bytes === 1 ? OTHER_PROTOCOLS[byte] : undefined;
    if (protocol !== undefined) return { is: `it begins like ${protocol}`, expected: 'HTTP/1.1' };
    const name = byte === 0 ? 'a NUL' : `the control character ${quote(byte.toString(16).padStart(2, '0'))}`;
    return { is: `it has ${name}`, expected: 'text' };
  }

  #rejectSize(most: number, unit: 'bytes' | 'lines') {
    const { side } = this.#terms;
    return reject({
      status: side === 'request' ? 431 : 502,
      subject: `head of ${side}`,
      is: `it has more than ${most} ${unit}`,
      expected: 'fewer',
      isTooLong: true as const,
    });
  }
}
