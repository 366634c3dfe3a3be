/**
 * What the gateway and an engine process say to each other, as bytes: four with the length of what follows, one with the
 * kind, four with the length of a head of JSON, the head, and bytes as they are. The engine side runs hostile code beside
 * it, so the gateway takes nothing of what it says on trust: not its lengths, not its heads.
 */

/** To an engine: a module, a call, the answer to what a guest asked. From it: questions, lines of a log, the end of a call. */
export const FRAMES = { module: 1, call: 2, answer: 3, ask: 4, log: 5, done: 6, ready: 7 } as const;

export type FrameKind = keyof typeof FRAMES;

export type Frame = { readonly kind: FrameKind; readonly head: unknown; readonly bytes: Uint8Array };

const LENGTH_BYTES = 4;
const BEFORE_HEAD = 1 + LENGTH_BYTES;
const KINDS = new Map<number, FrameKind>(
  Object.entries(FRAMES).map(([kind, number]) => [number, kind as FrameKind]),
);

export function frameOf(kind: FrameKind, head: unknown, bytes: Uint8Array = new Uint8Array(0)): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const length = BEFORE_HEAD + text.length + bytes.length;
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + length);
  frame.writeUInt32LE(length, 0);
  frame[LENGTH_BYTES] = FRAMES[kind];
  frame.writeUInt32LE(text.length, LENGTH_BYTES + 1);
  frame.set(text, LENGTH_BYTES + BEFORE_HEAD);
  frame.set(bytes, LENGTH_BYTES + BEFORE_HEAD + text.length);
  return frame;
}

/** The length of a frame by its first bytes; null before they are there. */
export function frameLength(start: Buffer): number | null {
  return start.length < LENGTH_BYTES ? null : LENGTH_BYTES + start.readUInt32LE(0);
}

/** Reads a whole frame; null where it makes no sense. */
export function parseFrame(frame: Buffer, mostHeadBytes = Number.POSITIVE_INFINITY): Frame | null {
  if (frame.length < LENGTH_BYTES + BEFORE_HEAD) return null;
  const kind = KINDS.get(frame[LENGTH_BYTES] ?? 0);
  const start = LENGTH_BYTES + BEFORE_HEAD;
  const headBytes = frame.readUInt32LE(LENGTH_BYTES + 1);
  const end = start + headBytes;
  // Boundary: JSON takes many times its length in memory, and the time of everybody while it is read.
  if (kind === undefined || end > frame.length || headBytes > mostHeadBytes) return null;
  try {
    const head: unknown = JSON.parse(frame.toString('utf8', start, end));
    return { kind, head, bytes: frame.subarray(end) };
  } catch {
    return null;
  }
}

/** Puts frames together from the pieces in which they come, and never keeps more than one that is too long. */
export class FrameReader {
  /** The longest frame that may come now. */
  mostBytes: number;
  readonly #mostHeadBytes: number;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(mostBytes: number, mostHeadBytes: number) {
    this.mostBytes = mostBytes;
    this.#mostHeadBytes = mostHeadBytes;
  }

  /** The frames that a piece completes; null once something makes no sense, and from then on. */
  read(piece: Buffer): readonly Frame[] | null {
    this.#pieces.push(piece);
    this.#length += piece.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.#length < LENGTH_BYTES) return frames;
      const wanted = frameLength(this.#front(LENGTH_BYTES)) ?? 0;
      // Boundary: who announces more than may come is not waited for.
      if (wanted > this.mostBytes) return null;
      if (this.#length < wanted) return frames;
      const frame = parseFrame(this.#take(wanted), this.#mostHeadBytes);
      if (frame === null) return null;
      frames.push(frame);
    }
  }

  #front(count: number): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && first.length >= count) return first;
    const joined = Buffer.concat(this.#pieces);
    this.#pieces = [joined];
    return joined;
  }

  #take(count: number): Buffer {
    const joined =
      this.#pieces.length === 1 ? (this.#pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#pieces);
    const rest = joined.subarray(count);
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    return joined.subarray(0, count);
  }
}
