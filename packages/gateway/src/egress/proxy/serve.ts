import type { Socket } from 'node:net';
import { connectTls } from '../tls/connect.ts';
import type { Door } from './door.ts';
import type { Exchange } from './exchange.ts';
import { forward } from './forward.ts';
import { lookInside } from './look-inside.ts';
import { reach } from './reach.ts';
import { receive } from './receive.ts';
import { found, type Read, turnDown } from './refusal.ts';
import type { PlainRequest } from './request-head.ts';
import type { ProxyRun } from './run.ts';
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
  const channel = await speakTo(exchange, socket, request.value, run);
  if (!channel.ok) return exchange.refuse(channel);
  exchange.heed(channel.value);
  await forward(exchange, request.value, channel.value, run);
}

async function speakTo(
  exchange: Exchange,
  socket: Socket,
  { asked }: PlainRequest,
  { limits, trust }: ProxyRun,
): Promise<Read<Socket>> {
  if (asked.scheme === 'http') return found(socket);
  const terms = { withinMs: limits.connectMs, signal: exchange.signal, trust };
  const secured = await connectTls(socket, asked.host, terms);
  return secured.ok ? found(secured.channel) : turnDown(secured.isLate ? 504 : 502, secured.why);
}
