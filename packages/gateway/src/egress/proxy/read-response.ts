import type { Socket } from 'node:net';
import type { Filled } from '../secrets.ts';
import type { Exchange } from './exchange.ts';
import { PROXY_BOUNDS, type ProxyLimits } from './proxy-limits.ts';
import { readHead } from './read-head.ts';
import { type Read, turnDown } from './refusal.ts';
import type { PlainRequest } from './request-head.ts';
import { formatResponseHead, judgeStatusLine, parseResponseHead, type Response } from './response-head.ts';

type ResponseTerms = { readonly limits: ProxyLimits; readonly filled: Filled };

/** Reads the head of a response; those in front of it, such as "100 Continue", are passed on as they come. */
export async function readResponse(
  exchange: Exchange,
  request: PlainRequest,
  target: Socket,
  { limits, filled }: ResponseTerms,
): Promise<Read<Response>> {
  for (let interim = 0; interim <= PROXY_BOUNDS.interimResponses; interim += 1) {
    const lines = await readLines(exchange, target, limits);
    if (lines === null)
      return turnDown(502, 'Cannot read response: the target ended first, expected an answer');
    const read = lines.ok ? parseResponseHead(lines.value, request.method) : lines;
    const response = withoutSecrets(read, filled);
    if (!response.ok || response.value.status >= 200) return response;
    // An interim response is no answer yet: a refusal may still follow it.
    if (request.minor === 1 && !exchange.isOver) exchange.client.write(formatResponseHead(response.value, 1));
  }
  return turnDown(502, 'Cannot read response: it puts off its answer again and again, expected one');
}

function readLines(exchange: Exchange, target: Socket, { headBytes, idleMs }: ProxyLimits) {
  return readHead(target, {
    headBytes,
    status: 502,
    judgeFirst: judgeStatusLine,
    withinMs: idleMs,
    late: turnDown(504, `Cannot read response: it did not begin, expected it within ${idleMs} ms`),
    onBytes: (bytes) => exchange.pass('bytesIn', bytes),
  });
}

/** Boundary: what a host repeats of a secret reaches neither the run nor a record. */
function withoutSecrets(read: Read<Response>, { isBound, hide }: Filled): Read<Response> {
  if (!isBound) return read;
  if (!read.ok)
    return read.status === 504
      ? read
      : turnDown(read.status, 'Cannot read response: it is malformed, expected HTTP/1.1');
  const fields = read.value.fields.map((field) => ({ ...field, value: hide(field.value) }));
  return { ok: true, value: { ...read.value, reason: hide(read.value.reason), fields } };
}
