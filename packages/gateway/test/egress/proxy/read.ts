/** Reads heads and bodies in one go, as a test has them. */
import { type BodyReader, newBodyReader } from '../../../src/egress/proxy/body.ts';
import type { Side } from '../../../src/egress/proxy/fields.ts';
import type { Framing } from '../../../src/egress/proxy/framing.ts';
import { HeadReader } from '../../../src/egress/proxy/head-reader.ts';
import { found, type Read } from '../../../src/egress/proxy/refusal.ts';
import { type ProxyRequest, parseRequestHead } from '../../../src/egress/proxy/request-head.ts';
import { parseRequestLine } from '../../../src/egress/proxy/request-line.ts';

/** Reads a request as the proxy does; null when its head is not complete. */
export function readRequest(bytes: Buffer, pieces: readonly Buffer[] = [bytes]): Read<ProxyRequest> | null {
  const reader = new HeadReader({
    headBytes: 65_536,
    status: 400,
    judgeFirst: (line) => {
      const read = parseRequestLine(line);
      return read.ok ? null : read;
    },
  });
  for (const piece of pieces) {
    const head = reader.read(piece);
    if (!head.ok) return head;
    if (head.value !== null) return parseRequestHead(head.value.lines);
  }
  return null;
}

export function readText(text: string): Read<ProxyRequest> | null {
  return readRequest(Buffer.from(text, 'latin1'));
}

/** Reads a body and says whether it ended. */
export function readBody(framing: Framing, side: Side, pieces: readonly Buffer[]) {
  const body: BodyReader = newBodyReader(framing, side);
  const data: Buffer[] = [];
  for (const piece of pieces) {
    const read = body.read(piece);
    if (!read.ok) return read;
    data.push(...read.value);
  }
  return found({ text: Buffer.concat(data).toString('latin1'), isDone: body.isDone() });
}

/** Cuts bytes at these places. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  const bounds = [0, ...sorted, bytes.length];
  return bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));
}
