import type { Socket } from 'node:net';
import { frame, newBodyReader } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { Framing } from './framing.ts';
import { PROXY_BOUNDS, type ProxyLimits } from './proxy-limits.ts';
import { readHead } from './read-head.ts';
import { type Read, turnDown } from './refusal.ts';
import { relay } from './relay.ts';
import { formatRequestHead, type ProxyRequest } from './request-head.ts';
import { formatResponseHead, judgeStatusLine, parseResponseHead, type Response } from './response-head.ts';

/*
 * One plain request and its response. Both connections end after it: the target is told so, and the client is told so
 * whatever it asked for. A second request therefore comes on a connection of its own and is decided anew, and a target
 * that answers more than it was asked answers nobody.
 */

type PlainRequest = ProxyRequest & { readonly kind: 'plain' };

/** Passes a request on and its response back. */
export async function forward(
  exchange: Exchange,
  request: PlainRequest,
  target: Socket,
  limits: ProxyLimits,
): Promise<void> {
  const head = formatRequestHead(request);
  if (!exchange.pass('bytesOut', head.length)) return;
  target.write(head);
  passRequestBody(exchange, request.framing, target);
  const response = await readResponse(exchange, request, target, limits);
  if (exchange.isOver) return;
  if (!response.ok) {
    exchange.refuse(response);
    return;
  }
  exchange.answer(formatResponseHead(response.value, request.minor));
  passResponseBody(exchange, response.value.framing, target, request.minor);
}

function passRequestBody(exchange: Exchange, framing: Framing, target: Socket): void {
  const { client } = exchange;
  const body = newBodyReader(framing, 'request');
  relay(client, target, (piece) => {
    // Boundary: what follows the request is read, so that a client that goes is noticed, and thrown away.
    if (exchange.isOver || body.isDone()) return [];
    const data = body.read(piece);
    if (!data.ok) {
      exchange.refuse(data);
      return [];
    }
    const parts = framing.kind === 'chunked' ? frame(data.value, body.isDone()) : data.value;
    return exchange.pass('bytesOut', bytesIn(parts)) ? parts : [];
  });
  client.once('end', () => {
    if (!body.isDone())
      exchange.refuse(turnDown(400, 'Cannot read body of request: it stops, expected all of it'));
  });
}

/** Reads the head of the response; those in front of it, such as "100 Continue", are passed on as they come. */
async function readResponse(
  exchange: Exchange,
  request: PlainRequest,
  target: Socket,
  { headBytes, idleMs }: ProxyLimits,
): Promise<Read<Response>> {
  for (let interim = 0; interim <= PROXY_BOUNDS.interimResponses; interim += 1) {
    const lines = await readHead(target, {
      headBytes,
      status: 502,
      judgeFirst: judgeStatusLine,
      withinMs: idleMs,
      late: turnDown(504, `Cannot read response: it did not begin, expected it within ${idleMs} ms`),
      onBytes: (bytes) => exchange.pass('bytesIn', bytes),
    });
    if (lines === null)
      return turnDown(502, 'Cannot read response: the target ended first, expected an answer');
    if (!lines.ok) return lines;
    const response = parseResponseHead(lines.value, request.method);
    if (!response.ok || response.value.status >= 200) return response;
    // An interim response is no answer yet: a refusal may still follow it.
    if (request.minor === 1 && !exchange.isOver) exchange.client.write(formatResponseHead(response.value, 1));
  }
  return turnDown(502, 'Cannot read response: it puts off its answer again and again, expected one');
}

function passResponseBody(exchange: Exchange, framing: Framing, target: Socket, minor: 0 | 1): void {
  const body = newBodyReader(framing, 'response');
  if (body.isDone()) {
    exchange.finish();
    return;
  }
  relay(target, exchange.client, (piece) => {
    if (!exchange.pass('bytesIn', piece.length)) return [];
    const data = body.read(piece);
    if (!data.ok) {
      exchange.refuse(data);
      return [];
    }
    return framing.kind === 'chunked' && minor === 1 ? frame(data.value, body.isDone()) : data.value;
  });
  target.on('data', () => {
    if (body.isDone()) exchange.finish();
  });
  target.once('end', () => {
    if (framing.kind === 'close') exchange.finish();
    else if (!body.isDone()) exchange.cut('Cannot go on: the response stops, expected all of it');
  });
}

function bytesIn(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
