import type { Socket } from 'node:net';
import type { Host } from '../authority.ts';
import type { Denial } from '../decide.ts';
import type { Interceptor } from '../tls/interceptor.ts';
import { denySite } from './deny-site.ts';
import type { Exchange } from './exchange.ts';
import { readHello } from './read-hello.ts';
import { bodyBytes, readRequest } from './receive.ts';
import { type Read, type Refused, turnDown } from './refusal.ts';
import { type PlainRequest, parseSiteHead, type Site, type TunnelRequest } from './request-head.ts';
import type { ProxyRun } from './run.ts';
import { acceptTls, type Inside } from './secure-client.ts';
import { problemWithHttps } from './server-name.ts';
import { establish } from './tunnel.ts';

/*
 * A tunnel that is opened: to the client the proxy is the target, with a certificate of the authority of the run, and
 * it reads the one request inside. From there on that is a plain request like any other, but for the scheme that it is
 * decided on with and the TLS that its target is spoken to in. What goes wrong before there is a request is recorded as
 * CONNECT.
 */

/** Opens a tunnel and receives the request inside it; null when the client went away. */
export async function intercept(
  exchange: Exchange,
  { asked }: TunnelRequest,
  run: ProxyRun,
  interceptor: Interceptor,
): Promise<Read<PlainRequest> | null> {
  const site: Site = { scheme: 'https', host: asked.host, port: asked.port };
  const reject = (status: number, denial: Denial): Refused => {
    exchange.decided(site, run.ledger.open(site, 'CONNECT', denial));
    return turnDown(status, denial.why);
  };
  // Boundary: nothing is said in the name of a host that no request may go to.
  const denial = denySite(run.list(), site);
  if (denial !== null) return reject(403, denial);
  if (exchange.isOver) return null;
  establish(exchange);
  const { headMs } = run.limits;
  // Boundary: the time is for all of the handshake, so a byte now and then does not hold a connection open.
  const late = setTimeout(() => {
    const why = `Cannot look into tunnel: the handshake is not complete, expected it within ${headMs} ms`;
    exchange.refuse(reject(408, denied(why)));
  }, headMs);
  const inside = await openTls(exchange.client, site.host, interceptor).finally(() => clearTimeout(late));
  if (exchange.isOver || inside === null) return null;
  if (!inside.ok) return reject(400, denied(inside.why));
  exchange.enter(inside.socket);
  const request = await readRequest(exchange, run, (lines) => parseSiteHead(lines, site));
  return request?.ok ? (run.ledger.refuseBody(bodyBytes(request.value)) ?? request) : request;
}

/** The client inside TLS, or what is wrong with how it speaks; null when it said nothing. */
async function openTls(client: Socket, host: Host, { contextFor }: Interceptor): Promise<Inside | null> {
  const opening = await readHello(client);
  if (opening.kind === 'silent' || client.destroyed) return null;
  const problem = problemWithHttps(opening, host);
  return problem === null ? acceptTls(client, contextFor(host)) : { ok: false, why: problem };
}

function denied(why: string): Denial {
  return { verdict: 'deny', rule: null, why };
}
