import { type Door, siteOf, tunnelThrough } from './door.ts';
import type { Exchange } from './exchange.ts';
import type { Head } from './head-reader.ts';
import { readHead } from './read-head.ts';
import { found, type Read, type Refused, turnDown } from './refusal.ts';
import { type ProxyRequest, parseRequestHead, parseSiteHead } from './request-head.ts';
import { parseRequestLine } from './request-line.ts';
import type { ProxyRun } from './run.ts';

/** Receives a request that the run may make at all; null when the client went away before it was complete. */
export async function receive(
  exchange: Exchange,
  run: ProxyRun,
  door: Door | null,
): Promise<Read<ProxyRequest> | null> {
  if (door === null) return receiveAsProxy(exchange, run);
  const request = door.isHttp
    ? await readRequest(exchange, run, (lines) => parseSiteHead(lines, siteOf(door)))
    : found(tunnelThrough(door));
  return request?.ok ? admit(request.value, run) : request;
}

async function receiveAsProxy(exchange: Exchange, run: ProxyRun): Promise<Read<ProxyRequest> | null> {
  const request = await readRequest(exchange, run, parseRequestHead);
  if (!request?.ok) return request;
  const { credential } = request.value;
  // Boundary: who does not know the token of this run is not of this run.
  if (run.isOfRun(credential)) return admit(request.value, run);
  run.ledger.counts.unauthorized += 1;
  const is = credential === null ? 'it has no Proxy-Authorization' : 'its token is not that of the run';
  return turnDown(407, `Cannot take request: ${is}, expected the one in the proxy's address`);
}

/** Reads a head off the client and counts it when it cannot be used. */
export async function readRequest<T>(
  { client }: Exchange,
  { limits, ledger }: ProxyRun,
  parse: (lines: Head['lines']) => Read<T>,
): Promise<Read<T> | null> {
  const lines = await readHead(client, {
    headBytes: limits.headBytes,
    status: 400,
    judgeFirst: (line) => refusalIn(parseRequestLine(line)),
    withinMs: limits.headMs,
    late: turnDown(408, `Cannot read request: it is not complete, expected it within ${limits.headMs} ms`),
  });
  if (lines === null) return null;
  const request = lines.ok ? parse(lines.value) : lines;
  if (!request.ok) ledger.counts.malformed += 1;
  return request;
}

function admit(request: ProxyRequest, { ledger }: ProxyRun): Read<ProxyRequest> {
  return ledger.admitRequest(bodyBytes(request)) ?? found(request);
}

/** How long a body says that it is. */
export function bodyBytes(request: ProxyRequest): number {
  return request.kind === 'plain' && request.framing.kind === 'length' ? request.framing.bytes : 0;
}

function refusalIn(read: Read<unknown>): Refused | null {
  return read.ok ? null : read;
}
