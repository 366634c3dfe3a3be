import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ServerEvent } from './route.ts';

/*
 * Streams of events for browsers and programs (text/event-stream). An event is written when the reader has taken those
 * before it; a reader that takes nothing holds nobody but itself.
 */

/** Proxies and clients take a silent connection for a dead one after half a minute. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': still here\n\n';
/** How long a reader may take nothing of what waits for it. */
const UNREAD_MS = 60_000;

/** One event as it is sent. JSON has no line feed of its own, so that no value can begin another event. */
export function encodeEvent({ event, id, data }: ServerEvent): string {
  // Boundary: what names an event stands on one line.
  const name = oneLine(event);
  return `event: ${name}\n${id === undefined ? '' : `id: ${oneLine(id)}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n\0]/g, ' ');
}

/** Writes all events until there are no more or nobody reads; the head was written before. */
export async function pourEvents(
  response: ServerResponse,
  events: AsyncIterable<ServerEvent>,
): Promise<void> {
  const keepAlive = setInterval(() => void response.write(KEEP_ALIVE), KEEP_ALIVE_MS);
  try {
    for await (const event of events) {
      if (!(await pour(response, encodeEvent(event)))) return;
    }
  } finally {
    clearInterval(keepAlive);
  }
}

/** Writes all chunks; false when the reader went away before. */
export async function pourChunks(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  for await (const chunk of chunks) if (!(await pour(response, chunk))) return false;
  return true;
}

/** Writes, and waits where the reader is slow; false when it went away. */
async function pour(response: ServerResponse, chunk: string | Uint8Array): Promise<boolean> {
  if (isGone(response)) return false;
  if (response.write(chunk)) return true;
  const stop = new AbortController();
  const { signal } = stop;
  // Boundary: a reader that never reads on would keep its connection, and what it asked for, for ever.
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
