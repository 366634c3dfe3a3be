import type { Socket } from 'node:net';
import type { AllowList } from '../allowlist.ts';
import { type Denial, decide, type EgressRequest } from '../decide.ts';
import type { Scheme, Site } from '../http-url.ts';
import type { Interceptor } from '../tls/interceptor.ts';
import { denySite, namesHttp } from './deny-site.ts';
import type { Exchange } from './exchange.ts';
import { readHello } from './read-hello.ts';
import { bodyBytes, readRequest } from './receive.ts';
import { found, type Read, type Refused, turnDown } from './refusal.ts';
import { type PlainRequest, type ProxyRequest, parseSiteHead, type TunnelRequest } from './request-head.ts';
import type { ProxyRun } from './run.ts';
import { acceptTls } from './secure-client.ts';
import { problemWithHttps } from './server-name.ts';
import { establish } from './tunnel.ts';

/*
 * A tunnel that is looked into. It leads to a host whose TLS is opened: to the client the proxy is the target then, with
 * a certificate of the authority of the run. Or it is denied as a tunnel and an entry is for HTTP in the open there,
 * which some clients ask for inside a tunnel as well. How the client begins tells which of the two it speaks. The one
 * request inside is a plain request like any other, decided on with the scheme that it was found with. What goes wrong
 * before there is a request is recorded as CONNECT.
 */

/** What comes of TLS inside a tunnel that is looked into. */
type Tls = { readonly opener: Interceptor } | { readonly denial: Denial };

type Lit = {
  /** As it is recorded when it comes to no request. */
  readonly asked: EgressRequest;
  readonly tls: Tls;
  /** Whether HTTP in the open could be allowed. */
  readonly canBePlain: boolean;
};

/** Where the request is to be read and with which scheme, or why there will be none. */
type Inside =
  | { readonly ok: true; readonly socket: Socket; readonly scheme: Scheme }
  | { readonly ok: false; readonly denial: Denial };

/** The request that counts: that inside a tunnel which is looked into, or the one received. Null when the client left. */
export async function lookInside(
  exchange: Exchange,
  request: ProxyRequest,
  run: ProxyRun,
): Promise<Read<ProxyRequest> | null> {
  const tunnel = request.kind === 'tunnel' ? lightUp(request, run) : null;
  if (tunnel === null) return found(request);
  // Boundary: nothing is said in the name of a host that no request may go to.
  if ('denial' in tunnel.tls && !tunnel.canBePlain) return reject(exchange, tunnel, run, tunnel.tls.denial);
  if (exchange.isOver) return null;
  establish(exchange);
  return receiveInside(exchange, tunnel, run);
}

/** What may be said inside a tunnel; null when it is allowed to go as it comes. */
function lightUp({ asked }: TunnelRequest, { list, interceptor }: ProxyRun): Lit | null {
  const now = list();
  if (interceptor?.isFor(asked.host) !== true) {
    const decision = decide(now, asked);
    return decision.verdict === 'allow' ? null : withPlain(now, asked, { denial: decision });
  }
  const site = siteOf(asked, 'https');
  const denial = denySite(now, site);
  return withPlain(now, site, denial === null ? { opener: interceptor } : { denial });
}

function withPlain(list: AllowList, asked: EgressRequest, tls: Tls): Lit {
  const plain = siteOf(asked, 'http');
  const canBePlain = denySite(list, plain) === null && ('opener' in tls || namesHttp(list, plain));
  return { asked, tls, canBePlain };
}

async function receiveInside(
  exchange: Exchange,
  tunnel: Lit,
  run: ProxyRun,
): Promise<Read<PlainRequest> | null> {
  const { headMs } = run.limits;
  // Boundary: the time is for all of the handshake, so a byte now and then does not hold a connection open.
  const late = setTimeout(() => {
    const why = `Cannot look into tunnel: the client has not begun to ask, expected it within ${headMs} ms`;
    exchange.refuse(reject(exchange, tunnel, run, denied(why)));
  }, headMs);
  const inside = await begin(exchange.client, tunnel).finally(() => clearTimeout(late));
  if (exchange.isOver || inside === null) return null;
  if (!inside.ok) return reject(exchange, tunnel, run, inside.denial);
  exchange.enter(inside.socket);
  const site = siteOf(tunnel.asked, inside.scheme);
  const request = await readRequest(exchange, run, (lines) => parseSiteHead(lines, site));
  return request?.ok ? (run.ledger.refuseBody(bodyBytes(request.value)) ?? request) : request;
}

/** Finds out what a client speaks, and accepts TLS where it is opened; null when it said nothing. */
async function begin(client: Socket, { asked: { host }, tls, canBePlain }: Lit): Promise<Inside | null> {
  const opening = await readHello(client);
  if (opening.kind === 'silent' || client.destroyed) return null;
  // Boundary: what does not begin as TLS is read here, and goes on as a request that the list allows or not at all.
  if (opening.kind === 'other' && canBePlain) return { ok: true, socket: client, scheme: 'http' };
  // Boundary: nobody sees what is said inside TLS that is not opened, so only an allowed tunnel carries it.
  if ('denial' in tls) return { ok: false, denial: tls.denial };
  const problem = problemWithHttps(opening, host);
  if (problem !== null) return { ok: false, denial: denied(problem) };
  const accepted = await acceptTls(client, tls.opener.contextFor(host));
  if (!accepted.ok) return { ok: false, denial: denied(accepted.why) };
  return { ok: true, socket: accepted.socket, scheme: 'https' };
}

/** Records a tunnel that comes to nothing. */
function reject(exchange: Exchange, { asked }: Lit, { ledger }: ProxyRun, denial: Denial): Refused {
  exchange.decided(asked, ledger.open(asked, 'CONNECT', denial));
  return turnDown(403, denial.why);
}

function siteOf({ host, port }: EgressRequest, scheme: Scheme): Site {
  return { scheme, host, port };
}

function denied(why: string): Denial {
  return { verdict: 'deny', rule: null, why };
}
