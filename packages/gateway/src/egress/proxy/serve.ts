import { connect } from 'node:net';
import { reject } from '../../core/result.ts';
import { type ConnectFailure, type Connection, openChannel, reach } from '../connect.ts';
import type { ProxyRequest } from '../http1/request.ts';
import type { ProxyExchange, Refusal, Served } from './exchange.ts';
import { forward } from './forward.ts';
import { type EgressDoor, type ProxyRun, receive } from './receive.ts';
import { connectForRelay } from './relay.ts';
import { lookInside, tunnel } from './tunnel.ts';

const STATUSES: Readonly<Record<ConnectFailure['cause'], number>> = {
  denied: 403,
  unreachable: 502,
  timeout: 504,
};

/** Serves the one request of a connection, or refuses it. The door is null for a connection to the proxy itself. */
export async function serve(exchange: ProxyExchange, run: ProxyRun, door: EgressDoor | null): Promise<void> {
  const first = await receive(exchange, run, door);
  const request = first?.ok ? await lookInside(exchange, first.value, run) : first;
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
