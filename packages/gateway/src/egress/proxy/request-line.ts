import { quote } from '../../core/hostile-text.ts';
import { found, type Read, turnDown } from './refusal.ts';

export type RequestLine = {
  readonly method: string;
  readonly rawTarget: string;
  /** Of HTTP/1. */
  readonly minor: 0 | 1;
};

const LINE = /^([^ ]+) ([^ ]+) HTTP\/([0-9.]+)$/;
const METHOD = /^[A-Z]{1,16}(?:-[A-Z]{1,16})?$/;
/** TRACE sends a request back with all that was added to it on the way; PRI begins another protocol. */
const REFUSED_METHODS: ReadonlySet<string> = new Set(['TRACE', 'TRACK', 'PRI']);
const EXPECTED = '"CONNECT host:port HTTP/1.1" or "GET http://host/ HTTP/1.1"';

/** Reads the first line of a request: two single spaces and nothing to repair. */
export function parseRequestLine(line: string): Read<RequestLine> {
  if (line === 'PRI * HTTP/2.0') return refuseLine(505, line, 'it is the preface of HTTP/2', '"HTTP/1.1"');
  const [whole, method = '', rawTarget = '', version = ''] = LINE.exec(line) ?? [];
  if (whole === undefined) {
    const is = /^[A-Z]+ [^ ]+$/.test(line) ? 'it has no version, as in HTTP/0.9' : 'it is no request line';
    return refuseLine(400, line, is, EXPECTED);
  }
  if (version !== '1.1' && version !== '1.0')
    return refuseLine(505, line, `its version is ${quote(version)}`, '"1.1" or "1.0"');
  // Boundary: an entry with methods compares the exact word, so a word in other letters is none of them.
  if (!METHOD.test(method)) return refuseLine(400, line, `${quote(method)} is no method`, 'capital letters');
  if (REFUSED_METHODS.has(method))
    return refuseLine(405, line, `${quote(method)} is not passed on`, 'another');
  if (!/^[!-~]+$/.test(rawTarget)) return refuseLine(400, line, 'its target is not ASCII', EXPECTED);
  return found({ method, rawTarget, minor: version === '1.1' ? 1 : 0 });
}

function refuseLine(status: number, line: string, is: string, expected: string) {
  return turnDown(status, `Cannot use request ${quote(line)}: ${is}, expected ${expected}`);
}
