import type { Address } from '../address.ts';
import type { AllowList } from '../allowlist.ts';
import { decide, denyAddress, type EgressRequest } from '../decide.ts';
import { type ResolveOptions, resolveTarget } from '../resolve.ts';
import type { CredentialCheck } from './credential.ts';
import { type Dialled, dial } from './dial.ts';
import type { Exchange } from './exchange.ts';
import { forward } from './forward.ts';
import type { Ledger } from './ledger.ts';
import type { ProxyLimits } from './proxy-limits.ts';
import { readHead } from './read-head.ts';
import { type Read, type Refused, turnDown } from './refusal.ts';
import { type ProxyRequest, parseRequestHead } from './request-head.ts';
import { parseRequestLine } from './request-line.ts';
import { tunnel } from './tunnel.ts';

/** What all connections of one run share. */
export type ProxyRun = {
  readonly list: () => AllowList;
  readonly resolve: Omit<ResolveOptions, 'signal'>;
  readonly isOfRun: CredentialCheck;
  readonly limits: ProxyLimits;
  readonly ledger: Ledger;
};

/** Serves the one request of a connection, or refuses it. */
export async function serve(exchange: Exchange, run: ProxyRun): Promise<void> {
  const request = await readRequest(exchange, run);
  if (request === null) return exchange.finish();
  if (!request.ok) return exchange.refuse(request);
  const target = await reach(exchange, request.value, run);
  if (!target.ok) return exchange.refuse(target);
  exchange.reached(target.value);
  if (exchange.isOver) return;
  if (request.value.kind === 'tunnel') tunnel(exchange, target.value.socket);
  else await forward(exchange, request.value, target.value.socket, run.limits);
}

/** Reads a request that the run may make at all; null when the client went away. */
async function readRequest({ client }: Exchange, run: ProxyRun): Promise<Read<ProxyRequest> | null> {
  const { limits, ledger } = run;
  const lines = await readHead(client, {
    headBytes: limits.headBytes,
    status: 400,
    judgeFirst: (line) => refusalIn(parseRequestLine(line)),
    withinMs: limits.headMs,
    late: turnDown(408, `Cannot read request: it is not complete, expected it within ${limits.headMs} ms`),
  });
  if (lines === null) return null;
  const request = lines.ok ? parseRequestHead(lines.value) : lines;
  if (!request.ok) {
    ledger.counts.malformed += 1;
    return request;
  }
  // Boundary: who does not know the token of this run is not of this run.
  if (!run.isOfRun(request.value.credential)) {
    ledger.counts.unauthorized += 1;
    const is =
      request.value.credential === null
        ? 'it has no Proxy-Authorization'
        : 'its token is not that of the run';
    return turnDown(407, `Cannot take request: ${is}, expected the one in the proxy's address`);
  }
  return ledger.admitRequest(bodyBytes(request.value)) ?? request;
}

/** Decides on a request, finds its addresses and connects to one of them, in this order. */
async function reach(
  exchange: Exchange,
  { asked, method }: ProxyRequest,
  run: ProxyRun,
): Promise<Read<Dialled>> {
  const list = run.list();
  const decision = decide(list, asked);
  const record = run.ledger.open(asked, method, decision);
  exchange.decided(asked, record);
  // Boundary: nothing leaves the machine for a request that the list denies, and no question about its name.
  if (decision.verdict === 'deny') return turnDown(403, decision.why);
  const target = await resolveTarget(list, asked, { ...run.resolve, signal: exchange.signal });
  if (exchange.isOver) return turnDown(502, 'Cannot go on: the client is gone');
  if (target.verdict === 'deny') {
    record.verdict = 'deny';
    record.rule = target.rule;
    record.why = target.why;
    return turnDown(target.at === 'lookup' ? 502 : 403, target.why);
  }
  return dial(target.addresses, {
    port: asked.port,
    connectMs: run.limits.connectMs,
    signal: exchange.signal,
    judge: (address) => judgeAgain(run, asked, address),
  });
}

/** Boundary: the list of this moment counts, not that of the moment when the lookup began. */
function judgeAgain({ list, resolve }: ProxyRun, asked: EgressRequest, address: Address): Refused | null {
  const now = list();
  const decision = decide(now, asked);
  const denial =
    decision.verdict === 'deny' ? decision : denyAddress(now, asked, address, resolve.own.addresses);
  return denial === null ? null : turnDown(403, denial.why);
}

function bodyBytes(request: ProxyRequest): number {
  return request.kind === 'plain' && request.framing.kind === 'length' ? request.framing.bytes : 0;
}

function refusalIn(read: Read<unknown>): Refused | null {
  return read.ok ? null : read;
}
