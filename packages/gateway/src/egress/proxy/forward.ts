import type { Socket } from 'node:net';
import { fillIn } from '../secrets.ts';
import { frame, newBodyReader } from './body.ts';
import type { Exchange } from './exchange.ts';
import { formatRequestHead } from './format-request.ts';
import type { Framing } from './framing.ts';
import { readResponse } from './read-response.ts';
import { turnDown } from './refusal.ts';
import { relay } from './relay.ts';
import type { PlainRequest } from './request-head.ts';
import { formatResponseHead, type Response } from './response-head.ts';
import type { ProxyRun } from './run.ts';

/*
 * One plain request and its response. Both connections end after it: the target is told so, and the client is told so
 * whatever it asked for. A second request therefore comes on a connection of its own and is decided anew, and a target
 * that answers more than it was asked answers nobody.
 */

/** Passes a request on, with its secrets, and its response back. */
export async function forward(
  exchange: Exchange,
  request: PlainRequest,
  target: Socket,
  { limits, secrets }: ProxyRun,
): Promise<void> {
  const filled = fillIn(request.fields, request.asked, secrets);
  exchange.begin(filled.used);
  const head = formatRequestHead({ ...request, fields: filled.fields });
  if (!exchange.pass('bytesOut', head.length)) return;
  target.write(head);
  passRequestBody(exchange, request.framing, target);
  const response = await readResponse(exchange, request, target, { limits, filled });
  if (exchange.isOver) return;
  if (!response.ok) {
    exchange.refuse(response);
    return;
  }
  exchange.answer(formatResponseHead(response.value, request.minor));
  passResponseBody(exchange, response.value, target, { minor: request.minor, isQuotable: !filled.isBound });
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

type BodyTerms = { readonly minor: 0 | 1; readonly isQuotable: boolean };

function passResponseBody(exchange: Exchange, { framing }: Response, target: Socket, terms: BodyTerms): void {
  const body = newBodyReader(framing, 'response');
  if (body.isDone()) {
    exchange.finish();
    return;
  }
  relay(target, exchange.client, (piece) => {
    if (!exchange.pass('bytesIn', piece.length)) return [];
    const data = body.read(piece);
    if (!data.ok) {
      exchange.cut(
        terms.isQuotable ? data.why : 'Cannot read body of response: it is malformed, expected HTTP/1.1',
      );
      return [];
    }
    return framing.kind === 'chunked' && terms.minor === 1 ? frame(data.value, body.isDone()) : data.value;
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
