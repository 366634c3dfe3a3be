import type { Socket } from 'node:net';
import { quote } from '../../core/hostile-text.ts';
import { accept, reject } from '../../core/result.ts';
import { HTTP1_LIMITS } from '../limits.ts';
import {
  endToEnd,
  type Field,
  type Framing,
  formatFields,
  formatFraming,
  framingOf,
  type HttpProblem,
  type HttpResult,
  parseFields,
  valuesOf,
} from './fields.ts';
import { type HeadLines, readHead } from './head.ts';

export type Response = {
  readonly status: number;
  readonly reason: string;
  readonly fields: readonly Field[];
  readonly framing: Framing;
  /** The Content-Length of a response that has no body. */
  readonly declaredLength: string | null;
};

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: ([\t -~\x80-\xff]*))?$/;

/** What is wrong with the first line of a response; null when reading can continue. */
function checkStatusLine(line: string): HttpProblem | null {
  if (STATUS_LINE.test(line)) return null;
  return problemWith(`response ${quote(line)}`, 'it is not a status line', '"HTTP/1.1 200 OK"');
}

type ResponseTerms = {
  readonly headBytes: number;
  /** For each head. */
  readonly withinMs: number;
  readonly onBytes: (bytes: number) => void;
  /** Called with each response before the final one, such as "100 Continue". */
  readonly onInterim?: (response: Response) => void;
};

/** The status of a response that does not begin in time. */
export const LATE_STATUS = 504;

/** Reads up to the body of the final response. Null when the target ended before that. */
export async function readResponse(
  socket: Socket,
  method: string,
  { withinMs, onBytes, onInterim, ...terms }: ResponseTerms,
): Promise<HttpResult<Response> | null> {
  let { headBytes } = terms;
  const late = {
    ...problemWith('response', 'it did not begin', `it within ${withinMs} ms`),
    status: LATE_STATUS,
  };
  for (let interim = 0; interim <= HTTP1_LIMITS.interimResponses; interim += 1) {
    const lines = await readHead(socket, {
      side: 'response',
      // Boundary: all heads together are as long as one may be.
      headBytes,
      checkFirst: checkStatusLine,
      withinMs,
      late,
      onBytes: (bytes) => {
        headBytes -= bytes;
        onBytes(bytes);
      },
    });
    if (lines === null || !lines.ok) return lines;
    const response = parseResponseHead(lines.value, method);
    if (!response.ok || response.value.status >= 200) return response;
    onInterim?.(response.value);
  }
  const most = HTTP1_LIMITS.interimResponses;
  return reject(problemWith('response', 'it puts off its answer again and again', `at most ${most} of 1xx`));
}

/** Reads the head of a response to a request with this method. */
export function parseResponseHead([first, ...others]: HeadLines, method: string): HttpResult<Response> {
  const [, minor, rawStatus = '', reason = ''] = STATUS_LINE.exec(first) ?? [];
  const status = Number(rawStatus);
  // Boundary: after a 101 the bytes are in another protocol, on which nothing was decided.
  if (status === 101)
    return reject(problemWith('response 101', 'it changes the protocol', 'CONNECT for such a target'));
  // Boundary: the credential of the run is requested by our proxy alone.
  if (status === 407)
    return reject(problemWith('response 407', 'the target is not a proxy', 'an answer of a server'));
  const fields = parseFields(others, 'response');
  if (!fields.ok) return fields;
  const framing = framingOf(fields.value, minor === '1' ? 1 : 0, 'response');
  if (!framing.ok) return framing;
  const passed = endToEnd(fields.value, 'response');
  if (!passed.ok) return passed;
  const isBodiless = method === 'HEAD' || status < 200 || status === 204 || status === 304;
  return accept({
    status,
    reason,
    fields: passed.value,
    framing: isBodiless ? { kind: 'none' } : framing.value,
    declaredLength: isBodiless ? (valuesOf(fields.value, 'content-length')[0] ?? null) : null,
  });
}

/** The head that the client gets. A client of HTTP/1.0 reads to the end of the connection, without chunks. */
export function formatResponseHead(response: Response, minor: 0 | 1): Buffer {
  const { status, reason, fields, framing, declaredLength } = response;
  const isUnframed = framing.kind === 'chunked' && minor === 0;
  const hasLength = declaredLength !== null && status >= 200 && status !== 204;
  const parts = [
    `HTTP/1.1 ${status} ${reason}\r\n`,
    formatFields(fields),
    isUnframed ? '' : formatFraming(framing),
    hasLength ? `Content-Length: ${declaredLength}\r\n` : '',
    status < 200 ? '\r\n' : 'Connection: close\r\n\r\n',
  ];
  return Buffer.from(parts.join(''), 'latin1');
}

function problemWith(subject: string, is: string, expected: string): HttpProblem {
  return { status: 502, subject, is, expected };
}
