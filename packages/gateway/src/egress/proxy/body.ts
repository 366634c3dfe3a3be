import { ChunkedReader } from './chunked-reader.ts';
import type { Side } from './fields.ts';
import type { Framing } from './framing.ts';
import { found, type Read } from './refusal.ts';

/** Finds the data of a body, piece by piece, and its end. Nothing behind the end is ever given. */
export type BodyReader = {
  readonly read: (piece: Buffer) => Read<readonly Buffer[]>;
  readonly isDone: () => boolean;
};

const LINE_END = Buffer.from('\r\n');
const LAST_FRAME = Buffer.from('0\r\n\r\n');

export function newBodyReader(framing: Framing, side: Side): BodyReader {
  if (framing.kind === 'chunked') return new ChunkedReader(side);
  if (framing.kind === 'close') return { read: (piece) => found([piece]), isDone: () => false };
  let left = framing.kind === 'length' ? framing.bytes : 0;
  return {
    isDone: () => left === 0,
    read: (piece) => {
      // Boundary: what follows the body is a second request, which nobody decided on.
      const part = piece.subarray(0, left);
      left -= part.length;
      return found(part.length === 0 ? [] : [part]);
    },
  };
}

/** Puts data into frames of our own making, so that no frame of the sender is passed on. */
export function frame(data: readonly Buffer[], isLast: boolean): readonly Buffer[] {
  const frames = data.flatMap((each) => [Buffer.from(`${each.length.toString(16)}\r\n`), each, LINE_END]);
  return isLast ? [...frames, LAST_FRAME] : frames;
}
