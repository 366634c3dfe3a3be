import { quote } from '../../core/hostile-text.ts';
import { endToEnd, type Field, formatFields, parseFields, valuesOf } from './fields.ts';
import { type Framing, formatFraming, framingOf } from './framing.ts';
import { found, type Read, turnDown } from './refusal.ts';

export type Response = {
  readonly status: number;
  readonly reason: string;
  readonly fields: readonly Field[];
  readonly framing: Framing;
  /** What a response without a body says its length would be. */
  readonly toldLength: string | null;
};

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: ([\t -~\x80-\xff]*))?$/;
const EXPECTED = '"HTTP/1.1 200 OK"';

/** Judges the first line of a response; null when it can be read on. */
export function judgeStatusLine(line: string): ReturnType<typeof turnDown> | null {
  if (STATUS_LINE.test(line)) return null;
  return turnDown(502, `Cannot use response ${quote(line)}: it is no status line, expected ${EXPECTED}`);
}

/** Reads the head of a response to a request with this method. */
export function parseResponseHead(
  [first, ...others]: readonly [string, ...string[]],
  method: string,
): Read<Response> {
  const [, minor, rawStatus = '', reason = ''] = STATUS_LINE.exec(first) ?? [];
  const status = Number(rawStatus);
  // Boundary: behind a 101 the bytes are in another protocol, for which nothing was decided.
  if (status === 101) return refuseStatus(status, 'it changes the protocol', 'CONNECT for such a target');
  // Boundary: the credential of the run is asked for by this proxy alone.
  if (status === 407) return refuseStatus(status, 'the target is no proxy', 'an answer of a server');
  const fields = parseFields(others, 'response');
  if (!fields.ok) return fields;
  const framing = framingOf(fields.value, minor === '1' ? 1 : 0, 'response');
  if (!framing.ok) return framing;
  const passed = endToEnd(fields.value, 'response');
  if (!passed.ok) return passed;
  const isBare = method === 'HEAD' || status < 200 || status === 204 || status === 304;
  return found({
    status,
    reason,
    fields: passed.value,
    framing: isBare ? { kind: 'none' } : framing.value,
    toldLength: isBare ? (valuesOf(fields.value, 'content-length')[0] ?? null) : null,
  });
}

/** The head that the client gets. A client of HTTP/1.0 knows no chunks and sees the end of the connection. */
export function formatResponseHead(response: Response, minor: 0 | 1): Buffer {
  const { status, reason, fields, framing, toldLength } = response;
  const isUnframed = framing.kind === 'chunked' && minor === 0;
  const hasTold = toldLength !== null && status >= 200 && status !== 204;
  const parts = [
    `HTTP/1.1 ${status} ${reason}\r\n`,
    formatFields(fields),
    isUnframed ? '' : formatFraming(framing),
    hasTold ? `Content-Length: ${toldLength}\r\n` : '',
    status < 200 ? '\r\n' : 'Connection: close\r\n\r\n',
  ];
  return Buffer.from(parts.join(''), 'latin1');
}

function refuseStatus(status: number, is: string, expected: string) {
  return turnDown(502, `Cannot use response ${status}: ${is}, expected ${expected}`);
}
