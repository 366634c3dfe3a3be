import { connect, type Socket } from 'node:net';
import { accept } from '../../core/result.ts';
import { type ConnectFailure, type Connection, connectTls, reach } from '../connect.ts';
import type { PlainRequest, ProxyRequest } from '../http1/index.ts';
import { type Exchange, refused, type Served } from './exchange.ts';
import { forward } from './forward.ts';
import { type Door, type ProxyRun, receive } from './receive.ts';
import { connectForRelay } from './relay.ts';
import { lookInside, tunnel } from './tunnel.ts';

const STATUSES: Readonly<Record<ConnectFailure['cause'], number>> = {
  denied: 403,
  unreachable: 502,
  timeout: 504,
};

/** Serves the one request of a connection, or refuses it. The door is null for a connection to the proxy itself. */
export async function serve(exchange: Exchange, run: ProxyRun, door: Door | null): Promise<void> {
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
  const channel = await speakTo(exchange, socket, request.value, run);
  if (!channel.ok) return exchange.refuse(channel.problem);
  exchange.heed(channel.value);
  await forward(exchange, request.value, channel.value, run);
}

/** Records what is decided on a request before anything leaves, and connects to its target. */
async function reachTarget(
  exchange: Exchange,
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
  if (connection.ok) return connection;
  return refused(STATUSES[connection.problem.cause], connection.problem.why);
}

async function speakTo(
  exchange: Exchange,
  socket: Socket,
  { egress }: PlainRequest,
  { limits, trust }: ProxyRun,
): Promise<Served<Socket>> {
  if (egress.scheme === 'http') return accept(socket);
  const terms = { withinMs: limits.connectMs, signal: exchange.signal, trust };
  const channel = await connectTls(socket, egress.host, terms);
  return channel.ok ? channel : refused(STATUSES[channel.problem.cause], channel.problem.why);
}
