import type { Socket } from 'node:net';
import type { Door } from './door.ts';
import type { Exchange } from './exchange.ts';
import { forward } from './forward.ts';
import { intercept } from './intercept.ts';
import { reach } from './reach.ts';
import { receive } from './receive.ts';
import { found, type Read } from './refusal.ts';
import type { PlainRequest, ProxyRequest } from './request-head.ts';
import type { ProxyRun } from './run.ts';
import { connectTls } from './secure-target.ts';
import { tunnel } from './tunnel.ts';

/** Serves the one request of a connection, or refuses it. The door is null for a connection to the proxy itself. */
export async function serve(exchange: Exchange, run: ProxyRun, door: Door | null): Promise<void> {
  const first = await receive(exchange, run, door);
  const request = first?.ok ? await lookInside(exchange, first.value, run) : first;
  if (request === null) return exchange.finish();
  if (!request.ok) return exchange.refuse(request);
  const target = await reach(exchange, request.value, run);
  if (!target.ok) return exchange.refuse(target);
  exchange.reached(target.value);
  if (exchange.isOver) return;
  const { socket } = target.value;
  if (request.value.kind === 'tunnel') return tunnel(exchange, request.value.asked.host, socket);
  const channel = await speakTo(socket, request.value, run);
  if (!channel.ok) return exchange.refuse(channel);
  exchange.heed(channel.value);
  await forward(exchange, request.value, channel.value, run);
}

/** The request that counts: that inside a tunnel which is to be opened, or the one that was received. */
async function lookInside(
  exchange: Exchange,
  request: ProxyRequest,
  run: ProxyRun,
): Promise<Read<ProxyRequest> | null> {
  const { interceptor } = run;
  const isOpened = request.kind === 'tunnel' && interceptor?.isFor(request.asked.host) === true;
  return isOpened && interceptor !== null ? intercept(exchange, request, run, interceptor) : found(request);
}

async function speakTo(socket: Socket, { asked }: PlainRequest, run: ProxyRun): Promise<Read<Socket>> {
  if (asked.scheme === 'http') return found(socket);
  return connectTls(socket, asked.host, { withinMs: run.limits.connectMs, trust: run.trust });
}
