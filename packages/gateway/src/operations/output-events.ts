import { isUtf8 } from 'node:buffer';
import type { Json } from '../core/json.ts';
import type { ServerEvent } from './operation.ts';

/*
 * What a run prints, as events. Chunks may split characters: the beginning of a character at the end of a chunk waits
 * for the rest of it. What is not UTF-8 is sent in base64, so that no byte is lost. It is one JSON text in the end, in
 * which line feeds, carriage returns and NUL are escaped.
 */

type StreamName = 'stdout' | 'stderr';

const LONGEST_CHARACTER = 4;

type OutputEvents = {
  /** The events of one chunk; none where it only begins a character. */
  readonly next: (stream: StreamName, chunk: Uint8Array) => readonly ServerEvent[];
  /** What still waits when the run has ended. */
  readonly rest: () => readonly ServerEvent[];
};

export function makeOutputEvents(): OutputEvents {
  const waiting: Record<StreamName, Uint8Array> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  return {
    next: (stream, chunk) => {
      const bytes = Buffer.concat([waiting[stream], chunk]);
      const end = bytes.length - incompleteBytes(bytes);
      waiting[stream] = bytes.subarray(end);
      return eventsOf(stream, bytes.subarray(0, end));
    },
    rest: () => (['stdout', 'stderr'] as const).flatMap((stream) => eventsOf(stream, waiting[stream])),
  };
}

function eventsOf(stream: StreamName, bytes: Uint8Array): readonly ServerEvent[] {
  if (bytes.length === 0) return [];
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const content: Json = isUtf8(buffer)
    ? { text: buffer.toString('utf8') }
    : { base64: buffer.toString('base64') };
  return [{ event: 'output', data: { stream, ...content } }];
}

/** How many bytes at the end begin a character that is not complete. */
function incompleteBytes(bytes: Uint8Array): number {
  for (let back = 1; back < LONGEST_CHARACTER && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    const isContinuation = byte >= 0x80 && byte < 0xc0;
    if (isContinuation) continue;
    return lengthFrom(byte) > back ? back : 0;
  }
  return 0;
}

/** How long a character is that begins with this byte; 1 where none does. */
function lengthFrom(byte: number): number {
  if (byte >= 0xc2 && byte < 0xe0) return 2;
  if (byte >= 0xe0 && byte < 0xf0) return 3;
  return byte >= 0xf0 && byte < 0xf5 ? 4 : 1;
}
