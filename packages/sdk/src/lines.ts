import { fromUtf8 } from './bytes.ts';
import { MAX_DOCUMENT_BYTES } from './document.ts';

const LINE_FEED = 10;

/** Bytes that are not lines of text; it carries the number of the first line that is not. */
export class MalformedLine extends Error {
  override readonly name = 'MalformedLine';
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** The lines of a stream, each ended by a line feed, in strict UTF-8 and at most 1 MiB long; throws MalformedLine. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string, void, undefined> {
  let line = 1;
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      measure(pendingBytes + end - start, line);
      yield decode([...pending, chunk.subarray(start, end)], line);
      pending = [];
      pendingBytes = 0;
      line += 1;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    // The rest is copied, because a reader may use its buffer again for the next chunk.
    pending.push(chunk.slice(start));
    pendingBytes += chunk.length - start;
    measure(pendingBytes, line);
  }
  if (pendingBytes > 0) throw new MalformedLine(line, 'the last line does not end with a line feed');
}

function decode(parts: readonly Uint8Array[], line: number): string {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  const text = fromUtf8(bytes);
  if (text === null) throw new MalformedLine(line, 'the line is not valid UTF-8');
  return text;
}

function measure(bytes: number, line: number): void {
  // Boundary: a line without an end is refused before it fills the memory.
  if (bytes > MAX_DOCUMENT_BYTES) {
    throw new MalformedLine(line, `the line has more than ${MAX_DOCUMENT_BYTES} bytes`);
  }
}
