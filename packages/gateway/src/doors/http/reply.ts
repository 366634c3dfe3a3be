import type { IncomingMessage, ServerResponse } from 'node:http';
import { CODES, isCode } from '@palisade/sdk';
import { hasBody } from './incoming.ts';
import { type HeaderLines, problemDocument, type Told } from './problem.ts';
import type { Reply } from './route.ts';
import { encodeEvent, pourChunks, pourEvents } from './sse.ts';

/* Writes answers: one head, then a text, events or bytes. What is sent is never kept, framed or guessed at by a browser. */

/** A whole answer at once. */
export type TextReply = {
  readonly kind: 'text';
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: HeaderLines;
};

const JSON_TYPE = 'application/json; charset=utf-8';
const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';
const PAGE = /^text\/html\b/;

const SAFE: HeaderLines = [
  'x-content-type-options',
  'nosniff',
  'cache-control',
  'no-store',
  'referrer-policy',
  'no-referrer',
  'cross-origin-resource-policy',
  'same-origin',
];
/** Boundary: nothing that we send runs a script, loads anything or stands in the frame of another page. */
const CLOSED: HeaderLines = ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"];
const CLOSED_PAGE: HeaderLines = [
  'content-security-policy',
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
];

/** How long a sender that is refused may go on before the connection is closed, so that it reads why. */
const LINGER_MS = 1_000;
/** A body that is less trouble to read than a new connection. */
const SMALL_BYTES = 64 * 1024;

/** Where an answer goes, and the headers that the request asked for. */
export type Way = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly lines: HeaderLines;
};

/** Sends one answer to its end. Gives the status. */
export async function send(way: Way, reply: Reply | TextReply): Promise<number> {
  switch (reply.kind) {
    case 'json':
      return sendText(way, { ...reply, kind: 'text', type: JSON_TYPE, text: JSON.stringify(reply.body) });
    case 'text':
      return sendText(way, reply);
    case 'problem':
      return sendProblem(way, { ...reply, code: isCode(reply.code) ? reply.code : 'gateway/fault' });
    case 'events':
      return sendEvents(way, reply);
    case 'bytes':
      return sendBytes(way, reply);
  }
}

/** Says what is wrong and what to do. */
export function sendProblem(way: Way, told: Told, headers: HeaderLines = []): Promise<number> {
  const document = problemDocument(told);
  const status = CODES[told.code].httpStatus;
  return sendText(way, {
    kind: 'text',
    status,
    type: PROBLEM_TYPE,
    text: JSON.stringify(document),
    headers,
  });
}

async function sendText(way: Way, reply: TextReply): Promise<number> {
  const { response, lines } = way;
  const { status, type, text, headers = [] } = reply;
  const isOver = await isBodyOver(way);
  if (response.headersSent || response.destroyed) return status;
  const head = [...SAFE, ...(PAGE.test(type) ? CLOSED_PAGE : CLOSED), ...lines, ...headers];
  head.push('content-type', type, 'content-length', String(Buffer.byteLength(text)));
  if (isOver) {
    response.writeHead(status, head).end(text);
    return status;
  }
  // Boundary: a body that was refused is not read to its end; the connection is of no more use.
  response.writeHead(status, [...head, 'connection', 'close']).write(text);
  if (way.request.headers.expect === undefined) await throwAway(way.request);
  response.end();
  return status;
}

/** Tells whether nothing more of the request will come. The rest of a small body is waited for, and thrown away. */
async function isBodyOver({ request }: Way): Promise<boolean> {
  if (request.complete || !hasBody(request)) return true;
  const isSmall = Number(request.headers['content-length'] ?? Infinity) <= SMALL_BYTES;
  if (isSmall && request.headers.expect === undefined) await throwAway(request);
  return request.complete;
}

/** Throws away what still comes, for a moment: a connection that is closed at once takes the answer with it. */
function throwAway(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(stop, LINGER_MS);
    request.once('end', stop).once('error', stop).once('close', stop).resume();
  });
}

async function sendEvents(way: Way, { events }: Extract<Reply, { kind: 'events' }>): Promise<number> {
  const { response } = way;
  startStream(way, ['content-type', 'text/event-stream; charset=utf-8', 'x-accel-buffering', 'no']);
  if (way.request.method === 'HEAD') await events[Symbol.asyncIterator]().return?.();
  else await pourEvents(response, events);
  response.end();
  return 200;
}

/** Ends a stream of events that broke with an event that says so. */
export function endBroken(response: ServerResponse, told: Told): void {
  const isEvents = String(response.getHeader('content-type') ?? '').startsWith('text/event-stream');
  if (isEvents && !response.destroyed)
    response.end(encodeEvent({ event: 'problem', data: problemDocument(told) }));
  // Boundary: bytes that end too early must not look complete.
  else response.destroy();
}

async function sendBytes(
  way: Way,
  { type, chunks, name }: Extract<Reply, { kind: 'bytes' }>,
): Promise<number> {
  const { response } = way;
  const file = name === undefined ? [] : ['content-disposition', `attachment; filename="${plain(name)}"`];
  startStream(way, ['content-type', type, ...file, ...(PAGE.test(type) ? CLOSED_PAGE : CLOSED)]);
  if (way.request.method === 'HEAD') await chunks[Symbol.asyncIterator]().return?.();
  else if (!(await pourChunks(response, chunks))) return 200;
  response.end();
  return 200;
}

function startStream({ response, lines }: Way, headers: HeaderLines): void {
  for (const [name, value] of pairs([...SAFE, ...lines, ...headers])) response.setHeader(name, value);
  response.writeHead(200);
  response.flushHeaders();
}

function* pairs(lines: HeaderLines): Generator<readonly [string, string]> {
  for (let i = 0; i < lines.length; i += 2) yield [lines[i] ?? '', lines[i + 1] ?? ''];
}

function plain(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]/g, '_');
}

/** An answer of the MCP door, passed on as it comes; what makes it safe is added where it says nothing itself. */
export async function sendResponse({ request, response, lines }: Way, answer: Response): Promise<number> {
  for (const [name, value] of pairs([...SAFE, ...CLOSED, ...lines])) response.setHeader(name, value);
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  response.writeHead(answer.status);
  if (answer.body === null || request.method === 'HEAD') {
    await answer.body?.cancel();
    response.end();
    return answer.status;
  }
  response.flushHeaders();
  const reader = answer.body.getReader();
  // A reader that goes away is told at once, not with the next chunk: that is how such a call is cancelled.
  response.once('close', () => void reader.cancel().catch(() => undefined));
  if (await pourChunks(response, chunksOf(reader))) response.end();
  return answer.status;
}

async function* chunksOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}
