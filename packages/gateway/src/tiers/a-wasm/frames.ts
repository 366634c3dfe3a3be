/**
 * What the gateway and an engine process say to each other, as bytes: four with the length of what follows, one with the
 * kind, four with the length of a head of JSON, the head, and bytes as they are. The engine side runs hostile code beside
 * it, so the gateway takes nothing of what it says on trust: not its lengths, not its heads.
 */

/**
 * To an engine: a module to be made ready, a module that was, a call, the answer to what a guest asked. From it: a module
 * that is ready, questions, lines of a log, the end of a call.
 */
export const FRAMES = {
  ...{ module: 1, call: 2, answer: 3, ask: 4, log: 5, done: 6, ready: 7, prepare: 8, prepared: 9 },
} as const;

export type FrameKind = keyof typeof FRAMES;

export type Frame = { readonly kind: FrameKind; readonly head: unknown; readonly bytes: Uint8Array };

const LENGTH_BYTES = 4;
const NOTHING = Buffer.alloc(0);
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

/** Puts frames together from the pieces in which they come. It keeps at most one that is not whole, in twice its bytes. */
export class FrameReader {
  /** The longest frame that may come now. */
  mostBytes: number;
  readonly #mostHeadBytes: number;
  /** What has come of a frame that is not whole, at the beginning of a buffer. */
  #held = NOTHING;
  #heldBytes = 0;
  #isLost = false;

  constructor(mostBytes: number, mostHeadBytes: number) {
    this.mostBytes = mostBytes;
    this.#mostHeadBytes = mostHeadBytes;
  }

  /** The frames that a piece completes; null once something makes no sense, and from then on. */
  read(piece: Buffer): readonly Frame[] | null {
    const frames: Frame[] = [];
    let rest = piece;
    while (rest.length > 0 && !this.#isLost) {
      // What is whole in the piece is taken from it as it is.
      if (this.#heldBytes > 0 || !isWhole(rest)) rest = this.#hold(rest);
      const from = this.#heldBytes > 0 ? this.#held.subarray(0, this.#heldBytes) : rest;
      const wanted = frameLength(from);
      // Boundary: who announces more than may come is not waited for.
      if (wanted !== null && wanted > this.mostBytes) this.#isLost = true;
      else if (wanted !== null && wanted <= from.length) {
        const frame = parseFrame(from.subarray(0, wanted), this.#mostHeadBytes);
        if (frame === null) this.#isLost = true;
        else frames.push(frame);
        if (this.#heldBytes === 0) rest = rest.subarray(wanted);
        this.#held = NOTHING;
        this.#heldBytes = 0;
      }
    }
    return this.#isLost ? null : frames;
  }

  /** Takes over what the frame lacks, as far as the piece has it, and gives the rest. */
  #hold(piece: Buffer): Buffer {
    const wanted = frameLength(this.#held.subarray(0, this.#heldBytes)) ?? LENGTH_BYTES;
    const bytes = Math.min(wanted - this.#heldBytes, piece.length);
    const length = this.#heldBytes + bytes;
    // Boundary: pieces of a byte cost what they are long, in memory and in time, however many they are.
    if (length > this.#held.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(wanted, Math.max(length, 2 * this.#held.length)));
      this.#held.copy(grown, 0, 0, this.#heldBytes);
      this.#held = grown;
    }
    piece.copy(this.#held, this.#heldBytes, 0, bytes);
    this.#heldBytes = length;
    return piece.subarray(bytes);
  }
}

function isWhole(piece: Buffer): boolean {
  const wanted = frameLength(piece);
  return wanted !== null && wanted <= piece.length;
}
