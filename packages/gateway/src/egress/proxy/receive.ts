import { accept } from '../../core/result.ts';
import type { Host, Site } from '../authority.ts';
import type { EgressTerms } from '../connect.ts';
import type { HttpResult } from '../http1/fields.ts';
import { type HeadLines, readHead } from '../http1/head.ts';
import {
  type ProxyRequest,
  parseRequestHead,
  parseRequestLine,
  parseSiteHead,
  type TunnelRequest,
} from '../http1/request.ts';
import type { ProxyLimits } from '../limits.ts';
import type { BoundSecret } from '../secrets.ts';
import type { Interceptor } from '../tls/certificate.ts';
import { type ProxyExchange, refused, type Served, served } from './exchange.ts';
import type { Ledger } from './ledger.ts';

export type CredentialCheck = (raw: string | null) => boolean;

/** What all connections of one run share. */
export type ProxyRun = Pick<EgressTerms, 'list' | 'resolve'> & {
  readonly isOfRun: CredentialCheck;
  readonly limits: ProxyLimits;
  readonly ledger: Ledger;
  readonly secrets: readonly BoundSecret[];
  readonly interceptor: Interceptor | null;
  readonly trust: EgressTerms['trust'];
};

/**
 * A listening socket for one target: every connection to it is for that target. It speaks no proxy protocol and
 * requires no credential, so only the run may be able to connect to it.
 */
export type EgressDoor = {
  readonly host: Host;
  readonly port: number;
  /** Whether unencrypted HTTP is spoken there; anything else is passed on as it comes. */
  readonly isHttp: boolean;
};

/** Receives a request that the run may make; null when the client disconnected before it was complete. */
export async function receive(
  exchange: ProxyExchange,
  run: ProxyRun,
  door: EgressDoor | null,
): Promise<Served<ProxyRequest> | null> {
  if (door === null) return receiveAsProxy(exchange, run);
  const site: Site = { scheme: 'http', host: door.host, port: door.port };
  const request = door.isHttp
    ? await readRequest(exchange, run, (lines) => parseSiteHead(lines, site))
    : accept(tunnelThrough(door));
  return request?.ok ? admit(request.value, run) : request;
}

/** The request of a door's connection when its bytes are not parsed. */
function tunnelThrough({ host, port }: EgressDoor): TunnelRequest {
  return { kind: 'tunnel', method: 'CONNECT', egress: { host, port }, credential: null, minor: 1 };
}

async function receiveAsProxy(exchange: ProxyExchange, run: ProxyRun): Promise<Served<ProxyRequest> | null> {
  const request = await readRequest(exchange, run, parseRequestHead);
  if (!request?.ok) return request;
  const { credential } = request.value;
  // Boundary: a client that does not know the token of this run is not of this run.
  if (run.isOfRun(credential)) return admit(request.value, run);
  run.ledger.counts.unauthorized += 1;
  const is = credential === null ? 'it has no Proxy-Authorization' : 'its token is not that of the run';
  return refused(407, `Cannot take request: ${is}, expected the user and password of the URL in HTTP_PROXY`);
}

/** Reads a head from the client and counts it when it cannot be used. */
export async function readRequest<T>(
  { client }: ProxyExchange,
  { limits, ledger }: ProxyRun,
  parse: (lines: HeadLines) => HttpResult<T>,
): Promise<Served<T> | null> {
  const expected = `the whole head within ${limits.headMs} ms`;
  const lines = await readHead(client, {
    side: 'request',
    headBytes: limits.headBytes,
    checkFirst: (line) => {
      const first = parseRequestLine(line);
      return first.ok ? null : first.problem;
    },
    withinMs: limits.headMs,
    late: { status: 408, subject: 'request', is: 'it is not complete', expected },
  });
  if (lines === null) return null;
  const request = lines.ok ? parse(lines.value) : lines;
  if (!request.ok) ledger.counts.malformed += 1;
  return served(request);
}

function admit(request: ProxyRequest, { ledger }: ProxyRun): Served<ProxyRequest> {
  const refusal = ledger.admitRequest(bodyBytes(request));
  return refusal === null ? accept(request) : { ok: false, problem: refusal };
}

export function bodyBytes(request: ProxyRequest): number {
  return request.kind === 'plain' && request.framing.kind === 'length' ? request.framing.bytes : 0;
}
