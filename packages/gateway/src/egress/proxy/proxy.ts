import { createHash, timingSafeEqual } from 'node:crypto';
import { connect, type Server, type Socket } from 'node:net';
import { reject } from '../../core/result.ts';
import { type ConnectFailure, type Connection, type EgressTerms, openChannel, reach } from '../connect.ts';
import type { ProxyRequest } from '../http1/request.ts';
import { completeLimits, DEFAULT_PROXY_LIMITS, PROXY_BOUNDS, type ProxyLimits } from '../limits.ts';
import { checkSecretValue } from '../secrets.ts';
import type { Interceptor } from '../tls/certificate.ts';
import { formatRefusal, ProxyExchange, type Refusal, type Served } from './exchange.ts';
import { forward } from './forward.ts';
import { Ledger, type ProxyFacts } from './ledger.ts';
import { type CredentialCheck, type EgressDoor, type ProxyRun, receive } from './receive.ts';
import { connectForRelay, reset } from './relay.ts';
import { lookInside, tunnel } from './tunnel.ts';

/*
 * The HTTP proxy of one run. What comes in is hostile: the clients, the names they request, the targets that respond. A
 * connection carries one request, CONNECT or a plain one in absolute form; it is read by a parser that repairs nothing,
 * must carry the token of the run, is decided on by the allow-list before any name is looked up, and goes to an address
 * that was checked. A door is a socket for one target and speaks no proxy protocol; its connections are decided on in
 * the same way. Of a tunnel only the name in its first message is inspected, unless it leads to a host whose tunnels
 * are opened, or only unencrypted HTTP is allowed inside: then the request inside is one like any other. An error on
 * one connection ends that connection and no other. This folder never follows a redirect, never reads a file, and never
 * keeps a connection for a second request.
 */

export type { EgressDoor };

export type ProxyOptions = EgressTerms & {
  /** The token of the run: its clients send `run:TOKEN` as basic credentials. */
  readonly credential: string;
  readonly limits?: Partial<ProxyLimits>;
  /** Opens the tunnels to some hosts, so that the requests inside are decided on. */
  readonly intercept?: Interceptor;
};

export type Proxy = {
  /** Takes over a listening socket, of the proxy or of a door: all its connections, and its end. */
  readonly listen: (server: Server, door?: EgressDoor | null) => void;
  /** Cuts what the current list does not allow; to be called after the list has changed. */
  readonly recheck: () => void;
  readonly facts: () => ProxyFacts;
  /** Ends every connection and every listening socket; nothing is accepted afterwards. The facts stay. */
  readonly close: () => void;
};

/** Opens the proxy of one run. It shares nothing with the proxy of any other. */
export function openProxy(options: ProxyOptions): Proxy {
  const limits = completeLimits(DEFAULT_PROXY_LIMITS, options.limits ?? {});
  const ledger = new Ledger({ limits, clock: options.clock });
  const isOfRun = newCredentialCheck(options.credential);
  const { list, resolve, secrets = [], intercept: interceptor = null, trust } = options;
  for (const { value } of secrets) checkSecretValue(value);
  const run: ProxyRun = { list, resolve, isOfRun, limits, ledger, secrets, interceptor, trust };
  const open = new Set<ProxyExchange>();
  const servers = new Set<Server>();
  let isClosed = false;

  const take = (client: Socket, door: EgressDoor | null) => {
    const canAnswer = door === null || door.isHttp;
    // A socket that is already closed fires no further event.
    if (isClosed || client.destroyed) {
      client.destroy();
      return;
    }
    // Boundary: a client that opens more than the limit is answered at once and uses no resources.
    const refusal = ledger.admitConnection(open.size);
    if (refusal !== null) {
      client.on('error', () => {});
      if (canAnswer) client.end(formatRefusal(refusal), () => client.destroy());
      else reset(client);
      return;
    }
    const onGone = () => open.delete(exchange);
    const exchange: ProxyExchange = new ProxyExchange({ client, ledger, limits, canAnswer, onGone });
    open.add(exchange);
    serve(exchange, run, door).catch(() => {
      ledger.counts.faults += 1;
      exchange.cut('Cannot go on: the proxy failed');
    });
  };

  return {
    listen: (server, door = null) => {
      servers.add(server);
      // A connection that cannot be accepted, for lack of descriptors, say, is lost; it must not end the program.
      server.on('error', () => {});
      server.on('connection', (client) => take(client, door));
    },
    recheck: () => {
      for (const exchange of open) exchange.recheck(run);
    },
    facts: () => ledger.facts(),
    close: () => {
      isClosed = true;
      for (const server of servers) server.close();
      for (const exchange of open) {
        exchange.cut('Cannot go on: the run has ended');
        exchange.destroy();
      }
    },
  };
}

/** The user name that goes with the token of a run. */
const USER = 'run';
const BASIC = /^basic +([A-Za-z0-9+/]+=*)$/i;

/** Makes the check for a token; its timing reveals nothing about the token. */
function newCredentialCheck(token: string): CredentialCheck {
  // Boundary: an empty or short token would let in a client that guesses it.
  if (token.length < PROXY_BOUNDS.leastTokenChars || !/^[!-9;-~]+$/.test(token)) {
    throw new TypeError(
      `Cannot open proxy: the token is short or has odd characters, expected at least ${PROXY_BOUNDS.leastTokenChars} printable ones`,
    );
  }
  const expected = digest(Buffer.from(`${USER}:${token}`).toString('base64'));
  return (raw) => {
    const [, given = ''] = BASIC.exec(raw ?? '') ?? [];
    // Boundary: digests have one length and say nothing about where two texts begin to differ.
    return timingSafeEqual(digest(given), expected);
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const STATUSES: Readonly<Record<ConnectFailure['cause'], number>> = {
  denied: 403,
  unreachable: 502,
  timeout: 504,
};

/** Serves the one request of a connection, or refuses it. The door is null for a connection to the proxy itself. */
async function serve(exchange: ProxyExchange, run: ProxyRun, door: EgressDoor | null): Promise<void> {
  const first = await receive(exchange, run, door);
  const request =
    first?.ok && first.value.kind === 'tunnel' ? await lookInside(exchange, first.value, run) : first;
  if (request === null) return exchange.finish();
  if (!request.ok) return exchange.refuse(request.problem);
  const target = await reachTarget(exchange, request.value, run);
  if (!target.ok) return exchange.refuse(target.problem);
  exchange.reached(target.value);
  if (exchange.isOver) return;
  const { socket } = target.value;
  if (request.value.kind === 'tunnel') return tunnel(exchange, request.value.egress.host, socket);
  const trust = { withinMs: run.limits.connectMs, signal: exchange.signal, trust: run.trust };
  const channel = await openChannel(socket, request.value.egress, trust);
  if (!channel.ok) return exchange.refuse(failed(channel.problem));
  exchange.heed(channel.value);
  await forward(exchange, request.value, channel.value, run);
}

/** Records what is decided on a request before anything leaves, and connects to its target. */
async function reachTarget(
  exchange: ProxyExchange,
  { kind, egress, method }: ProxyRequest,
  run: ProxyRun,
): Promise<Served<Connection>> {
  const { decision, connection } = await reach(egress, {
    list: run.list,
    resolve: run.resolve,
    connectMs: run.limits.connectMs,
    signal: exchange.signal,
    open: kind === 'tunnel' ? connectForRelay : connect,
    onDecision: (made) => exchange.decided(egress, run.ledger.open(egress, method, made)),
  });
  exchange.revise(decision);
  return connection.ok ? connection : reject(failed(connection.problem));
}

function failed({ cause, why }: ConnectFailure): Refusal {
  return { status: STATUSES[cause], why };
}
