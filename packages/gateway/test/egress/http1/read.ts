/** Reads heads and bodies in one go, as a test has them. */

import { accept } from '../../../src/core/result.ts';
import { type BodyReader, newBodyReader } from '../../../src/egress/http1/body.ts';
import type { Framing, HttpResult, MessageSide } from '../../../src/egress/http1/fields.ts';
import { HeadReader } from '../../../src/egress/http1/head.ts';
import { type ProxyRequest, parseRequestHead, parseRequestLine } from '../../../src/egress/http1/request.ts';

/** Reads a request as the proxy does; null when its head is not complete. */
export function readRequest(
  bytes: Buffer,
  pieces: readonly Buffer[] = [bytes],
): HttpResult<ProxyRequest> | null {
  const reader = new HeadReader({
    side: 'request',
    headBytes: 65_536,
    checkFirst: (line) => {
      const read = parseRequestLine(line);
      return read.ok ? null : read.problem;
    },
  });
  for (const piece of pieces) {
    const head = reader.read(piece);
    if (!head.ok) return head;
    if (head.value !== null) return parseRequestHead(head.value.lines);
  }
  return null;
}

export function readText(text: string): HttpResult<ProxyRequest> | null {
  return readRequest(Buffer.from(text, 'latin1'));
}

/** Reads a body and says whether it ended. */
export function readBody(framing: Framing, side: MessageSide, pieces: readonly Buffer[]) {
  const body: BodyReader = newBodyReader(framing, side);
  const data: Buffer[] = [];
  for (const piece of pieces) {
    const read = body.read(piece);
    if (!read.ok) return read;
    data.push(...read.value);
  }
  return accept({ text: Buffer.concat(data).toString('latin1'), isDone: body.isDone() });
}

/** Cuts bytes at these places. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  const bounds = [0, ...sorted, bytes.length];
  return bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));
}
