import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  ByteStream,
  EventStream,
  type Operation,
  type OperationResult,
  type ServerEvent,
} from '../../operations/operation.ts';
import { type HeaderFields, type ProblemFacts, problemDocument } from './problem.ts';
import { hasBody } from './request.ts';

/*
 * Writes answers: one head, then a text, events (text/event-stream) or bytes. Browsers may not cache, frame or sniff
 * what is sent. A chunk is written when the reader has taken the previous ones; a slow reader delays only itself.
 */

/** A whole answer at once. */
export type TextAnswer = {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: HeaderFields;
};

const JSON_TYPE = 'application/json; charset=utf-8';
const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

const SAFE: HeaderFields = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};
/** Boundary: nothing that we send runs a script, loads anything or is shown in a frame, but pages of ours (site.ts). */
const CLOSED: HeaderFields = { 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" };

const PREFLIGHT: HeaderFields = {
  'access-control-allow-headers':
    'authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, traceparent',
  'access-control-max-age': '600',
};

/** Proxies and clients take a silent connection for a dead one after half a minute. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': still here\n\n';
/** How long a reader may stall. */
const UNREAD_MS = 60_000;

/** How long a sender that is refused may continue before the connection is closed, so that it can read the reason. */
const LINGER_MS = 1_000;
/** A body that is cheaper to read than a new connection. */
const SMALL_BYTES = 64 * 1024;

/** Where an answer goes, and the headers that the request calls for. */
export type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly fields: HeaderFields;
};

/** Sends the result of an operation to its end. Returns the status. */
export async function sendResult(
  exchange: Exchange,
  { output }: Pick<Operation, 'output'>,
  result: OperationResult,
): Promise<number> {
  if (result instanceof EventStream) return sendEvents(exchange, result);
  if (result instanceof ByteStream) return sendBytes(exchange, output.type ?? 'application/json', result);
  const { created } = output;
  const isCreated = created === true || created?.when(result) === true;
  const status = isCreated ? 201 : 200;
  return sendText(exchange, { status, type: JSON_TYPE, text: JSON.stringify(result) });
}

/** Sends what is wrong and what to do. */
export function sendProblem(
  exchange: Exchange,
  facts: ProblemFacts,
  headers: HeaderFields = {},
): Promise<number> {
  const document = problemDocument(facts);
  const { status } = document;
  return sendText(exchange, { status, type: PROBLEM_TYPE, text: JSON.stringify(document), headers });
}

export async function sendText(exchange: Exchange, answer: TextAnswer): Promise<number> {
  const { response, fields } = exchange;
  const { status, type, text, headers } = answer;
  const isOver = await isBodyOver(exchange);
  if (response.headersSent || response.destroyed) return status;
  const head = {
    ...SAFE,
    ...CLOSED,
    ...fields,
    ...headers,
    'content-type': type,
    'content-length': String(Buffer.byteLength(text)),
  };
  if (isOver) {
    response.writeHead(status, head).end(text);
    return status;
  }
  // Boundary: a body that was refused is not read to its end; the connection cannot be reused.
  response.writeHead(status, { ...head, connection: 'close' }).write(text);
  if (exchange.request.headers.expect === undefined) await discard(exchange.request);
  response.end();
  return status;
}

/** Whether the request is complete. The rest of a small body is read and discarded. */
async function isBodyOver({ request }: Exchange): Promise<boolean> {
  if (request.complete || !hasBody(request)) return true;
  const isSmall = Number(request.headers['content-length'] ?? Infinity) <= SMALL_BYTES;
  if (isSmall && request.headers.expect === undefined) await discard(request);
  return request.complete;
}

/** Discards what still arrives, for a moment: closing at once would lose the response. */
function discard(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(stop, LINGER_MS);
    request.once('end', stop).once('error', stop).once('close', stop).resume();
  });
}

async function sendEvents(exchange: Exchange, { events }: EventStream): Promise<number> {
  const { response } = exchange;
  startStream(exchange, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
  if (exchange.request.method === 'HEAD') await events[Symbol.asyncIterator]().return?.();
  else await writeEvents(response, events);
  response.end();
  return 200;
}

/** Ends a broken stream of events with an error event. */
export function endBroken(response: ServerResponse, facts: ProblemFacts): void {
  const isEvents = String(response.getHeader('content-type') ?? '').startsWith('text/event-stream');
  if (isEvents && !response.destroyed)
    response.end(encodeEvent({ event: 'problem', data: problemDocument(facts) }));
  // Boundary: bytes that end too early must not look complete.
  else response.destroy();
}

async function sendBytes(
  exchange: Exchange,
  type: string,
  { chunks, fileName }: ByteStream,
): Promise<number> {
  const { response } = exchange;
  const disposition = `attachment; filename="${fileName?.replace(/[^A-Za-z0-9._-]/g, '_')}"`;
  const file: HeaderFields = fileName === null ? {} : { 'content-disposition': disposition };
  startStream(exchange, { 'content-type': type, ...file, ...CLOSED });
  if (exchange.request.method === 'HEAD') await chunks[Symbol.asyncIterator]().return?.();
  else if (!(await writeChunks(response, chunks))) return 200;
  response.end();
  return 200;
}

function startStream({ response, fields }: Exchange, headers: HeaderFields): void {
  response.setHeaders(new Map(Object.entries({ ...SAFE, ...fields, ...headers })));
  response.writeHead(200);
  response.flushHeaders();
}

/** The address has other methods: OPTIONS is answered with them, anything else is refused. */
export function sendAllowed(exchange: Exchange, allowed: readonly string[]): Promise<number> {
  const { fields, request } = exchange;
  const methods = (allowed.includes('GET') ? ['HEAD', ...allowed] : [...allowed]).sort().join(', ');
  if (request.method !== 'OPTIONS') {
    const detail = `Cannot ${request.method}: the address does not take it, expected ${methods}`;
    return sendProblem(exchange, { code: 'door/method-not-allowed', detail }, { allow: methods });
  }
  const isOther = Object.keys(fields).length > 0;
  const cors = isOther ? { ...PREFLIGHT, 'access-control-allow-methods': methods } : {};
  const headers = { allow: methods, ...cors };
  return sendText(exchange, { status: 200, type: 'text/plain; charset=utf-8', text: '', headers });
}

/** An answer of the MCP door, passed on as it arrives; security headers are added where missing. */
export async function sendResponse(
  { request, response, fields }: Exchange,
  answer: Response,
): Promise<number> {
  response.setHeaders(new Map(Object.entries({ ...SAFE, ...CLOSED, ...fields })));
  response.setHeaders(answer.headers);
  response.writeHead(answer.status);
  if (answer.body === null || request.method === 'HEAD') {
    await answer.body?.cancel();
    response.end();
    return answer.status;
  }
  response.flushHeaders();
  const reader = answer.body.getReader();
  // A reader that disconnects is noticed at once, not with the next chunk: that is how such a call is cancelled.
  response.once('close', () => void reader.cancel().catch(() => undefined));
  if (await writeChunks(response, chunksOf(reader))) response.end();
  return answer.status;
}

async function* chunksOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

/** One event as it is sent. JSON has no line feed of its own, so that no value can begin another event. */
export function encodeEvent({ event, id, data }: ServerEvent): string {
  // Boundary: the name of an event is one line.
  const name = oneLine(event);
  return `event: ${name}\n${id === undefined ? '' : `id: ${oneLine(id)}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n\0]/g, ' ');
}

/** Writes all events until there are no more or the reader is gone; the head has already been written. */
async function writeEvents(response: ServerResponse, events: AsyncIterable<ServerEvent>): Promise<void> {
  const keepAlive = setInterval(() => void response.write(KEEP_ALIVE), KEEP_ALIVE_MS);
  try {
    for await (const event of events) {
      if (!(await write(response, encodeEvent(event)))) return;
    }
  } finally {
    clearInterval(keepAlive);
  }
}

/** Writes all chunks; false when the reader disconnected first. */
async function writeChunks(response: ServerResponse, chunks: AsyncIterable<Uint8Array>): Promise<boolean> {
  for await (const chunk of chunks) if (!(await write(response, chunk))) return false;
  return true;
}

/** Writes, and waits where the reader is slow; false when it disconnected. */
async function write(response: ServerResponse, chunk: string | Uint8Array): Promise<boolean> {
  if (isGone(response)) return false;
  if (response.write(chunk)) return true;
  const stop = new AbortController();
  const { signal } = stop;
  // Boundary: a reader that stops reading would keep its connection and its request forever.
  const timer = setTimeout(() => response.destroy(), UNREAD_MS);
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  return !isGone(response);
}

function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.closed || response.writableEnded;
}
