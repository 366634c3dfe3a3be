import type { Socket } from 'node:net';
import { accept, reject, sentenceOf } from '../../core/result.ts';
import { formatChunks, newBodyReader } from '../http1/body.ts';
import { type HttpResult, rejectBody } from '../http1/fields.ts';
import { formatRequestHead, type PlainRequest } from '../http1/request.ts';
import { formatResponseHead, LATE_STATUS, type Response, readResponse } from '../http1/response.ts';
import type { ProxyLimits } from '../limits.ts';
import { newFormWatch } from '../overrides.ts';
import { type Filled, fillIn, hideInFields, UNQUOTED_BODY, UNQUOTED_RESPONSE } from '../secrets.ts';
import { type ProxyExchange, refusalOf } from './exchange.ts';
import type { ProxyRun } from './receive.ts';
import { relay } from './relay.ts';

/*
 * One plain request and its response. Both connections end after it: both heads say so, whatever the client requested.
 * A second request therefore needs its own connection and its own decision, and a target that answers more than one
 * request is not read further.
 */

/** Passes a request on, with its secrets, and its response back. */
export async function forward(
  exchange: ProxyExchange,
  request: PlainRequest,
  target: Socket,
  run: ProxyRun,
): Promise<void> {
  const { limits, secrets } = run;
  const filled = fillIn(request.fields, request.egress, secrets);
  exchange.begin(filled.used);
  const head = formatRequestHead({ ...request, fields: filled.fields });
  if (!exchange.pass('bytesOut', head.length)) return;
  target.write(head);
  passRequestBody(exchange, request, target, run);
  const response = await receiveResponse(exchange, request, target, { limits, filled });
  if (exchange.isOver) return;
  if (!response.ok) {
    exchange.refuse(refusalOf(response.problem));
    return;
  }
  exchange.answer(formatResponseHead(response.value, request.minor));
  passResponseBody(exchange, response.value, target, { minor: request.minor, isQuotable: !filled.isBound });
}

function passRequestBody(
  exchange: ProxyExchange,
  { framing, fields }: PlainRequest,
  target: Socket,
  run: ProxyRun,
): void {
  const { client } = exchange;
  const findOverride = newFormWatch(fields);
  const body = newBodyReader(framing, 'request');
  relay(client, target, (piece) => {
    // Boundary: what follows the request is read, to notice a disconnect, and discarded.
    if (exchange.isOver || body.isDone()) return [];
    const data = body.read(piece);
    if (!data.ok) {
      exchange.refuse(refusalOf(data.problem));
      return [];
    }
    for (const part of data.value) {
      const override = findOverride?.(part) ?? null;
      if (override !== null) exchange.override(override, run);
    }
    const parts = framing.kind === 'chunked' ? formatChunks(data.value, body.isDone()) : data.value;
    return exchange.pass('bytesOut', bytesIn(parts)) ? parts : [];
  });
  client.once('end', () => {
    if (!body.isDone()) exchange.refuse(refusalOf(rejectBody('request', 'it stops', 'all of it').problem));
  });
}

type BodyTerms = { readonly minor: 0 | 1; readonly isQuotable: boolean };

function passResponseBody(
  exchange: ProxyExchange,
  { framing }: Response,
  target: Socket,
  terms: BodyTerms,
): void {
  const body = newBodyReader(framing, 'response');
  if (body.isDone()) {
    exchange.finish();
    return;
  }
  relay(target, exchange.client, (piece) => {
    if (!exchange.pass('bytesIn', piece.length)) return [];
    const data = body.read(piece);
    if (!data.ok) {
      exchange.cut(sentenceOf(terms.isQuotable ? data.problem : UNQUOTED_BODY));
      return [];
    }
    return framing.kind === 'chunked' && terms.minor === 1
      ? formatChunks(data.value, body.isDone())
      : data.value;
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

/** Reads the head of a response; those before it, such as "100 Continue", are passed on as they come. */
async function receiveResponse(
  exchange: ProxyExchange,
  { method, minor }: PlainRequest,
  target: Socket,
  { limits, filled }: { readonly limits: ProxyLimits; readonly filled: Filled },
): Promise<HttpResult<Response>> {
  const response = await readResponse(target, method, {
    headBytes: limits.headBytes,
    withinMs: limits.idleMs,
    onBytes: (bytes) => exchange.pass('bytesIn', bytes),
    onInterim: (interim) => {
      // An interim response is not the answer yet: a refusal may still follow it.
      if (minor === 1 && !exchange.isOver)
        exchange.client.write(formatResponseHead(withoutSecrets(interim, filled), 1));
    },
  });
  if (response === null)
    return reject({ status: 502, subject: 'response', is: 'the target ended first', expected: 'an answer' });
  if (response.ok) return accept(withoutSecrets(response.value, filled));
  // Boundary: nothing is quoted of a target that may know a secret, since a part of the secret might be in it.
  return filled.isBound && response.problem.status !== LATE_STATUS
    ? reject({ ...UNQUOTED_RESPONSE, status: response.problem.status })
    : response;
}

/** Boundary: a secret that a host echoes reaches neither the run nor a record. */
function withoutSecrets(response: Response, { hide }: Filled): Response {
  return { ...response, reason: hide(response.reason), fields: hideInFields(response.fields, hide) };
}
