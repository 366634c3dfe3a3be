import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import { accept, type Result, reject } from '../../core/result.ts';
import type { AllowList } from '../allowlist.ts';
import type { Host, Scheme, Site } from '../authority.ts';
import { type Denial, decide, denySite, type EgressRequest, namesHttp } from '../decide.ts';
import { type PlainRequest, type ProxyRequest, parseSiteHead, type TunnelRequest } from '../http1/request.ts';
import { codeOf } from '../resolve.ts';
import type { Interceptor } from '../tls/certificate.ts';
import { problemWithHttps, problemWithName, readHello } from '../tls/opening.ts';
import type { ProxyExchange, Refusal, Served } from './exchange.ts';
import { bodyBytes, type ProxyRun, readRequest } from './receive.ts';
import { relay } from './relay.ts';

const ESTABLISHED = Buffer.from('HTTP/1.1 200 Connection established\r\n\r\n');

/**
 * Joins a client and a target. Only the TLS hello is inspected; either side may end first, and the target may send
 * first.
 */
export async function tunnel(exchange: ProxyExchange, host: Host, target: Socket): Promise<void> {
  const { client } = exchange;
  exchange.begin([]);
  establish(exchange);
  relay(target, client, (piece) => (exchange.pass('bytesIn', piece.length) ? [piece] : []));
  target.once('end', () => client.end());
  const opening = await readHello(client);
  if (exchange.isOver) return;
  const problem = problemWithName(opening, host);
  if (problem !== null) return exchange.cut(problem);
  if (opening.kind === 'silent') {
    target.end();
    return;
  }
  relay(client, target, (piece) => (exchange.pass('bytesOut', piece.length) ? [piece] : []));
  client.once('end', () => target.end());
}

/** Tells a client that its tunnel is established. A client of a door requested none, and gets no answer. */
function establish(exchange: ProxyExchange): void {
  if (exchange.canAnswer) exchange.answer(ESTABLISHED);
}

/*
 * A tunnel that is inspected. It leads to a host whose TLS is opened: to the client the proxy is the target then, with
 * a certificate of the authority of the run. Or it is denied as a tunnel and an entry is for unencrypted HTTP there,
 * which some clients send inside a tunnel as well. The client's first bytes show which of the two it speaks. The one
 * request inside is a plain request like any other, decided on with the scheme that it was found with. What goes wrong
 * before there is a request is recorded as CONNECT.
 */

type TunnelTls = { readonly opener: Interceptor } | { readonly denial: Denial };

type ReadTunnel = {
  /** As recorded when no request follows. */
  readonly egress: EgressRequest;
  readonly tls: TunnelTls;
  /** Whether unencrypted HTTP could be allowed. */
  readonly canBePlain: boolean;
};

/** Where the request inside a tunnel is read, and with which scheme. */
type InnerChannel = { readonly socket: Socket; readonly scheme: Scheme };

/** The request that counts: the one inside an inspected tunnel, or the tunnel itself. Null when the client left. */
export async function lookInside(
  exchange: ProxyExchange,
  request: TunnelRequest,
  run: ProxyRun,
): Promise<Served<ProxyRequest> | null> {
  const tunnel = readingOf(request, run);
  if (tunnel === null) return accept(request);
  // Boundary: no host is impersonated that no request may go to.
  if ('denial' in tunnel.tls && !tunnel.canBePlain)
    return reject(recordDenial(exchange, tunnel, run, tunnel.tls.denial));
  if (exchange.isOver) return null;
  establish(exchange);
  return receiveInside(exchange, tunnel, run);
}

/** How a tunnel is inspected; null when it may pass unread. */
function readingOf({ egress }: TunnelRequest, { list, interceptor }: ProxyRun): ReadTunnel | null {
  const now = list();
  if (interceptor?.isFor(egress.host) !== true) {
    const decision = decide(now, egress);
    return decision.verdict === 'allow' ? null : withPlain(now, egress, { denial: decision });
  }
  const site = siteOf(egress, 'https');
  const denial = denySite(now, site);
  return withPlain(now, site, denial === null ? { opener: interceptor } : { denial });
}

function withPlain(list: AllowList, egress: EgressRequest, tls: TunnelTls): ReadTunnel {
  const plain = siteOf(egress, 'http');
  const canBePlain = denySite(list, plain) === null && ('opener' in tls || namesHttp(list, plain));
  return { egress, tls, canBePlain };
}

async function receiveInside(
  exchange: ProxyExchange,
  tunnel: ReadTunnel,
  run: ProxyRun,
): Promise<Served<PlainRequest> | null> {
  const { headMs } = run.limits;
  // Boundary: the time is for all of the handshake, so a slow trickle of bytes does not keep a connection open.
  const late = setTimeout(() => {
    const why = `Cannot look into tunnel: the client has sent no request, expected it within ${headMs} ms`;
    exchange.refuse(recordDenial(exchange, tunnel, run, denied(why)));
  }, headMs);
  const inside = await openTunnel(exchange.client, tunnel).finally(() => clearTimeout(late));
  if (exchange.isOver || inside === null) return null;
  if (!inside.ok) return reject(recordDenial(exchange, tunnel, run, inside.problem));
  exchange.enter(inside.value.socket);
  const site = siteOf(tunnel.egress, inside.value.scheme);
  const request = await readRequest(exchange, run, (lines) => parseSiteHead(lines, site));
  if (!request?.ok) return request;
  const refusal = run.ledger.refuseBody(bodyBytes(request.value));
  return refusal === null ? request : reject(refusal);
}

/** Finds out what a client speaks, and accepts TLS where it is opened; null when it sent nothing. */
async function openTunnel(
  client: Socket,
  { egress: { host }, tls, canBePlain }: ReadTunnel,
): Promise<Result<InnerChannel, Denial> | null> {
  const opening = await readHello(client);
  if (opening.kind === 'silent' || client.destroyed) return null;
  // Boundary: what does not begin as TLS is parsed here, and continues only as a request that the list allows.
  if (opening.kind === 'other' && canBePlain) return accept({ socket: client, scheme: 'http' });
  // Boundary: the contents of unopened TLS are invisible, so only an allowed tunnel carries it.
  if ('denial' in tls) return reject(tls.denial);
  const problem = problemWithHttps(opening, host);
  if (problem !== null) return reject(denied(problem));
  const accepted = await acceptTls(client, tls.opener.contextFor(host));
  return accepted.ok ? accept({ socket: accepted.value, scheme: 'https' }) : reject(denied(accepted.problem));
}

function recordDenial(
  exchange: ProxyExchange,
  { egress }: ReadTunnel,
  { ledger }: ProxyRun,
  denial: Denial,
): Refusal {
  exchange.decided(egress, ledger.open(egress, 'CONNECT', denial));
  return { status: 403, why: denial.why };
}

function siteOf({ host, port }: EgressRequest, scheme: Scheme): Site {
  return { scheme, host, port };
}

function denied(why: string): Denial {
  return { verdict: 'deny', rule: null, why };
}

/** Acts as the TLS server for a client whose hello has arrived but is unread. It waits as long as the client. */
function acceptTls(client: Socket, secureContext: SecureContext): Promise<Result<TLSSocket, string>> {
  return new Promise((resolve) => {
    const socket = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
    const fail = (is: string) =>
      resolve(
        reject(
          `Cannot look into tunnel: ${is}, expected a client that trusts the authority in SSL_CERT_FILE`,
        ),
      );
    // An error comes before the end of what it broke; afterwards the holder of the socket listens for its end.
    socket.on('error', (error) => fail(`the client broke off TLS (${codeOf(error)})`));
    socket.once('end', () => fail('the client ended in the middle of TLS'));
    socket.once('close', () => fail('the client went away in the middle of TLS'));
    socket.once('secure', () => resolve(accept(socket)));
  });
}
