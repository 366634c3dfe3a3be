import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import {
  checkServerIdentity,
  connect as connectSecurely,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';
import type { Clock } from '../core/clock.ts';
import { quote } from '../core/hostile-text.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { type Address, formatAddress } from './address.ts';
import type { AllowList } from './allowlist.ts';
import { formatHost, type Host, type Site } from './authority.ts';
import { decide, denyNow, type EgressDecision, type EgressRequest } from './decide.ts';
import { EGRESS_LIMITS } from './limits.ts';
import { codeOf, type ResolveOptions, resolveTarget } from './resolve.ts';
import type { BoundSecret } from './secrets.ts';

/*
 * The only way to connect to a target, for the proxy and for our own requests: decide, look the name up once, check
 * every address, connect to a checked one, and where it is https prove that the target is the host that was decided on.
 */

/** What the proxy of a run and our own requests have in common. */
export type EgressTerms = {
  /** The current list; it is read for each request, and again before each attempt to connect. */
  readonly list: () => AllowList;
  readonly resolve: Omit<ResolveOptions, 'signal'>;
  /** Filled in where they belong and nowhere else. */
  readonly secrets?: readonly BoundSecret[];
  /** The authorities that prove who a target is, instead of those that Node trusts. */
  readonly trust?: SecureContextOptions['ca'];
  readonly clock: Clock;
};

export type ConnectFailure = {
  readonly cause: 'denied' | 'unreachable' | 'timeout';
  readonly why: string;
};

export type Connection = { readonly socket: Socket; readonly address: Address };

export type Reached = {
  readonly decision: EgressDecision;
  readonly connection: Result<Connection, ConnectFailure>;
};

type ReachTerms = Pick<EgressTerms, 'list' | 'resolve'> & {
  /** For all attempts together. */
  readonly connectMs: number;
  readonly signal: AbortSignal;
  /** Called with the decision before anything leaves the machine. */
  readonly onDecision?: (decision: EgressDecision) => void;
  /** Makes the socket; without, as a plain one. */
  readonly open?: (options: TcpNetConnectOpts) => Socket;
};

/** Decides on a request, finds its addresses and connects to one of them, in this order. */
export async function reach(request: EgressRequest, terms: ReachTerms): Promise<Reached> {
  const list = terms.list();
  const decision = decide(list, request);
  terms.onDecision?.(decision);
  // Boundary: nothing leaves the machine for a request that the list denies, not even a DNS query.
  if (decision.verdict === 'deny') return { decision, connection: fail('denied', decision.why) };
  const target = await resolveTarget(list, request, { ...terms.resolve, signal: terms.signal });
  if (terms.signal.aborted)
    return { decision, connection: fail('unreachable', 'Cannot connect to target: the call has ended') };
  if (target.verdict === 'allow')
    return { decision, connection: await dial(target.addresses, request, terms) };
  const cause = target.at === 'lookup' ? 'unreachable' : 'denied';
  return { decision: target, connection: fail(cause, target.why) };
}

/** Connects to the first of the checked addresses that answers. */
async function dial(
  addresses: readonly Address[],
  request: EgressRequest,
  terms: ReachTerms,
): Promise<Result<Connection, ConnectFailure>> {
  const tried = addresses.slice(0, EGRESS_LIMITS.connectAttempts);
  const attemptMs = Math.ceil(terms.connectMs / tried.length);
  let last: Result<Socket, ConnectFailure> = fail('unreachable', 'it has no address');
  for (const address of tried) {
    // Boundary: the list may have changed since the address was checked.
    const denial = denyNow(terms, request, address);
    if (denial !== null) return fail('denied', denial.why);
    last = await attempt(address, request.port, { ...terms, attemptMs });
    if (last.ok) return accept({ socket: last.value, address });
    if (terms.signal.aborted) break;
  }
  const { cause, why } = last.problem;
  return fail(cause, `Cannot connect to target: ${why}, expected an answer`);
}

function attempt(
  address: Address,
  port: number,
  { signal, attemptMs, open = connect }: ReachTerms & { readonly attemptMs: number },
): Promise<Result<Socket, ConnectFailure>> {
  const host = formatAddress(address);
  return new Promise((resolve) => {
    // Boundary: the address that was checked, as a number; no name is looked up from here on.
    const socket = open({ host, port, allowHalfOpen: true, noDelay: true });
    const finish = (outcome: Result<Socket, ConnectFailure>) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.off('error', onError);
      // The next owner of the socket listens for its end; an unhandled error would end the process.
      socket.on('error', () => {});
      if (!outcome.ok) socket.destroy();
      resolve(outcome);
    };
    const onAbort = () => finish(fail('unreachable', `the call ended before ${host} answered`));
    const onError = (error: Error) =>
      finish(fail('unreachable', `${host} refuses the connection (${codeOf(error)})`));
    const timer = setTimeout(
      () => finish(fail('timeout', `${host} did not answer within ${attemptMs} ms`)),
      attemptMs,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('error', onError);
    socket.once('connect', () => finish(accept(socket)));
  });
}

type TrustTerms = {
  readonly withinMs: number;
  readonly signal: AbortSignal;
  readonly trust: EgressTerms['trust'];
};

const UNTRUSTED = 'its certificate is of an authority that is not trusted';
/** What a code of the handshake means for people. */
const HANDSHAKE_PROBLEMS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'it does not speak HTTP/1.1',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
  ECONNRESET: 'it broke off the handshake',
};

/** The channel to a target: its socket, or TLS over it where the scheme is https. */
export async function openChannel(
  socket: Socket,
  { scheme, host }: Pick<Site, 'scheme' | 'host'>,
  terms: TrustTerms,
): Promise<Result<Socket, ConnectFailure>> {
  return scheme === 'http' ? accept(socket) : connectTls(socket, host, terms);
}

/** Starts TLS with a target. The channel's target has proved to be the host, and speaks HTTP/1.1. */
export function connectTls(
  socket: Socket,
  host: Host,
  { withinMs, signal, trust }: TrustTerms,
): Promise<Result<TLSSocket, ConnectFailure>> {
  const name = formatHost(host);
  return new Promise((resolve) => {
    const channel = connectSecurely({
      socket,
      // Only a name is sent; an address must be in the certificate.
      ...(host.kind === 'name' ? { servername: name } : { host: name }),
      ...(trust === undefined ? {} : { ca: trust }),
      // Boundary: the target is the host that was decided on, or nothing is sent to it. Set here, so that no
      // environment variable turns it off.
      rejectUnauthorized: true,
      checkServerIdentity: (_named, certificate) => checkServerIdentity(name, certificate),
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
    });
    const finish = (outcome: Result<TLSSocket, ConnectFailure>) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      channel.off('close', onClose);
      if (!outcome.ok) channel.destroy();
      resolve(outcome);
    };
    const refuse = (is: string, cause: ConnectFailure['cause'] = 'unreachable') =>
      finish(fail(cause, `Cannot trust target ${quote(name)}: ${is}, expected a certificate for this host`));
    const onAbort = () => refuse('the call has ended');
    const onClose = () => refuse('it broke off the handshake');
    const timer = setTimeout(
      () => refuse(`its handshake took more than ${withinMs} ms`, 'timeout'),
      withinMs,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    // Not removed: the next owner of the channel notices its end, and an unhandled error would end the process.
    channel.on('error', (error) => {
      const code = codeOf(error);
      refuse(`${HANDSHAKE_PROBLEMS[code] ?? 'its handshake failed'} (${code})`);
    });
    channel.once('close', onClose);
    channel.once('secureConnect', () => finish(accept(channel)));
    // A signal that is already aborted fires no event.
    if (signal.aborted) onAbort();
  });
}

function fail(cause: ConnectFailure['cause'], why: string) {
  return reject({ cause, why });
}
