/**
 * The frames between the gateway and an engine process, as bytes: four with the length of what follows, one with the
 * kind, four with the length of a head of JSON, the head, and raw bytes. Hostile code runs beside the engine, so the
 * gateway trusts nothing that it sends: neither lengths nor heads.
 */
import type { SourcePlace } from '@palisade/wasm';
import type { Limits } from '../../../core/limits.ts';
import type { EngineFacts, Recording } from '../../../core/recording.ts';
import type { CapabilityKind } from '../../../core/wasm.ts';
import type { AbiName } from './abi.table.ts';

/**
 * To an engine: a module to prepare, a prepared module, a call, the answer to a request of a guest, a module with places of a
 * trap in it. From it: a prepared module, requests, log lines, the end of a call, the lines of a trap.
 */
export const FRAMES = {
  module: 1,
  call: 2,
  answer: 3,
  ask: 4,
  log: 5,
  done: 6,
  ready: 7,
  prepare: 8,
  prepared: 9,
  locate: 10,
  located: 11,
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

/** The length of a frame by its first bytes; null before they have arrived. */
export function frameLength(start: Buffer): number | null {
  return start.length < LENGTH_BYTES ? null : LENGTH_BYTES + start.readUInt32LE(0);
}

/** Reads a whole frame; null where it is invalid. */
export function parseFrame(frame: Buffer, mostHeadBytes = Number.POSITIVE_INFINITY): Frame | null {
  if (frame.length < LENGTH_BYTES + BEFORE_HEAD) return null;
  const kind = KINDS.get(frame[LENGTH_BYTES] ?? 0);
  const start = LENGTH_BYTES + BEFORE_HEAD;
  const headBytes = frame.readUInt32LE(LENGTH_BYTES + 1);
  const end = start + headBytes;
  // Boundary: parsed JSON takes many times its length in memory, and parsing it blocks all calls.
  if (kind === undefined || end > frame.length || headBytes > mostHeadBytes) return null;
  try {
    const head: unknown = JSON.parse(frame.toString('utf8', start, end));
    return { kind, head, bytes: frame.subarray(end) };
  } catch {
    return null;
  }
}

/** Assembles frames from chunks. It keeps at most one incomplete frame, in twice its bytes. */
export class FrameReader {
  /** The longest frame that is acceptable now. */
  mostBytes: number;
  readonly #mostHeadBytes: number;
  /** The part of an incomplete frame that has arrived, at the start of a buffer. */
  #held = NOTHING;
  #heldBytes = 0;
  #isLost = false;

  constructor(mostBytes: number, mostHeadBytes: number) {
    this.mostBytes = mostBytes;
    this.#mostHeadBytes = mostHeadBytes;
  }

  /** The frames that a chunk completes; null once something is invalid, and from then on. */
  read(piece: Buffer): readonly Frame[] | null {
    const frames: Frame[] = [];
    let rest = piece;
    while (rest.length > 0 && !this.#isLost) {
      // Frames that are whole in the chunk are taken from it without a copy.
      if (this.#heldBytes > 0 || !isWhole(rest)) rest = this.#hold(rest);
      const from = this.#heldBytes > 0 ? this.#held.subarray(0, this.#heldBytes) : rest;
      const wanted = frameLength(from);
      // Boundary: a frame that announces more than the permitted length is not waited for.
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

  /** Copies what the frame lacks, as far as the chunk has it, and returns the rest. */
  #hold(piece: Buffer): Buffer {
    const wanted = frameLength(this.#held.subarray(0, this.#heldBytes)) ?? LENGTH_BYTES;
    const bytes = Math.min(wanted - this.#heldBytes, piece.length);
    const length = this.#heldBytes + bytes;
    // Boundary: memory and time are proportional to the bytes, however small the chunks are.
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

/* The heads of frames. Both sides are our code; the gateway still checks what an engine sends. */

export type GuestLimits = Pick<Limits, 'fuel' | 'memoryBytes' | 'outputBytes'> & {
  readonly logBytes: number;
};

/** Describes the form of a module, which engines run in its place. */
export type FormHead = {
  /** Identifies what the form was made from, as the engine computed it. */
  readonly digest: string;
  readonly seal: string;
  readonly isComponent: boolean;
};

/** A module in its prepared form; calls refer to it by its key. */
export type ModuleHead = FormHead & { readonly key: string };

/** A module to prepare, for calls with this memory limit, which the form depends on. */
export type PrepareHead = { readonly memoryBytes: number };

/** The result of preparing a module, with the form as the bytes; or why it was refused. */
export type PreparedHead = FormHead | { readonly refused: ModuleRefusal };

export type ModuleRefusal = { readonly code: string; readonly message: string; readonly detail?: string };

export type CallHead = Pick<Recording, 'startedMs' | 'seed' | 'config'> & {
  readonly key: string;
  /** Guests of different owners never share a pool. */
  readonly owner: string;
  readonly tool: string;
  readonly functions: readonly AbiName[];
  readonly counts: Readonly<Record<CapabilityKind, number>>;
  readonly limits: GuestLimits;
};

/** The longest texts of one request: more than any capability takes; anything longer is neither copied nor read. */
export const MOST_REQUEST_BYTES = 8 * 1024 * 1024;
/** The maximum growth of a form: where the meter has to check before each instruction, one byte becomes twenty. */
const MOST_GROWTH = 20;
const MOST_FORM_BYTES = 160 * 1024 * 1024;
/** Names of imports and exports, and what the meter adds to every module. */
const MOST_ADDED_BYTES = 1024 * 1024;

/** The longest form of a module of this length; the engine refuses a longer one, and the gateway does not read it. */
export function mostFormBytes(moduleBytes: number): number {
  return Math.min(MOST_GROWTH * moduleBytes, MOST_FORM_BYTES) + MOST_ADDED_BYTES;
}

/** The quota charge of a log line beside its text: about what the gateway adds to it. */
export const LOG_LINE_BYTES = 10;

/** A request of a guest to the gateway: plain numbers, and the lengths of the texts that follow as bytes. */
export type RequestHead = {
  readonly name: AbiName;
  readonly numbers: readonly number[];
  readonly lengths: readonly number[];
};

/** The length of the bytes that follow and are kept for the guest, zero, or an error of the ABI. */
export type AnswerHead = { readonly result: number };

export type LogHead = { readonly level: number };

/** How a call ended, of a trap with why; the bytes are its output, or the JSON of the error that the tool reported. */
export type DoneHead = Partial<ModuleRefusal> & {
  readonly ending: 'returned' | 'failed' | 'trapped';
  readonly fuelUsed: number;
  readonly isExact: boolean;
  readonly peakMemoryBytes: number;
  readonly isLogCut: boolean;
  /** Of a trap the functions that were running, the innermost first. */
  readonly frames?: readonly number[];
  /** Where each of them was in the metered module. */
  readonly places?: readonly number[];
  /** What its fuel count depends on; left out by an engine that does not know. */
  readonly engine?: EngineFacts;
};

/** Asks for the lines of places in the metered form of a module, which follows as it was submitted. */
export type LocateHead = PrepareHead & { readonly places: readonly number[] };

/** For each place the file and the line, as the module says; null where it does not. */
export type LocatedHead = { readonly lines: readonly (SourcePlace | null)[] };

const HEXADECIMAL = /^[0-9a-f]{64}$/;

/** The head of a form from an engine or a file; null where it is invalid. */
export function readFormHead(raw: unknown): FormHead | null {
  const { digest, seal, isComponent } = (raw ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof digest !== 'string' || typeof seal !== 'string' || typeof isComponent !== 'boolean') return null;
  return HEXADECIMAL.test(digest) && HEXADECIMAL.test(seal) ? { digest, seal, isComponent } : null;
}
