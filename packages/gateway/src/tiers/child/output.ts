import { isUtf8 } from 'node:buffer';

export type StreamName = 'stdout' | 'stderr';

const FIRST_BLOCK_BYTES = 4_096;
const MAX_BLOCK_BYTES = 1_048_576;
/** A chunk of this size or more is kept without a copy: it takes little more memory than its length. */
const LARGE_BYTES = 16_384;

/**
 * Bytes that arrive in chunks. Small ones are copied into blocks, so that a million chunks of one byte take as much
 * memory as one chunk of a million; large ones are kept, and the caller must not change them afterwards.
 */
export class ByteStore {
  readonly #blocks: Uint8Array[] = [];
  /** The used part of the last block, where that is one of ours. */
  #filled = 0;
  /** The unused part of it. */
  #room = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (chunk.length >= LARGE_BYTES && chunk.length * 2 >= chunk.buffer.byteLength) this.#keep(chunk);
    else this.#copy(chunk);
  }

  tail(count: number): Uint8Array {
    return this.bytes().subarray(Math.max(0, this.#length - count));
  }

  /** Everything so far, as a separate copy. */
  bytes(): Uint8Array {
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const block of this.#blocks) {
      all.set(block.subarray(0, this.#length - at), at);
      at += block.length;
    }
    return all;
  }

  #keep(chunk: Uint8Array): void {
    this.#endBlock();
    this.#blocks.push(chunk);
  }

  #copy(chunk: Uint8Array): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#room.length === 0) this.#addBlock();
      const part = rest.subarray(0, this.#room.length);
      this.#room.set(part);
      this.#room = this.#room.subarray(part.length);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
    }
  }

  #addBlock(): void {
    const size = Math.min(Math.max(this.#length, FIRST_BLOCK_BYTES), MAX_BLOCK_BYTES);
    this.#room = new Uint8Array(size);
    this.#filled = 0;
    this.#blocks.push(this.#room);
  }

  /** Releases the unused part, so that the next chunk follows. */
  #endBlock(): void {
    const last = this.#blocks.at(-1);
    if (this.#room.length === 0 || last === undefined) return;
    this.#blocks[this.#blocks.length - 1] = last.subarray(0, this.#filled);
    this.#room = new Uint8Array(0);
  }
}

/** Of the errors of a child with a dialogue, to find out why it ended. */
const MOST_KEPT_BYTES = 64 * 1024;

/**
 * The two outputs of a child under one quota: the first bytes are kept, never more than the quota. Those of a child
 * with a dialogue have none, as its caller bounds them message by message: they are passed on whole, and only the
 * beginning of its errors is kept.
 */
export class OutputCapture {
  readonly #isDialogue: boolean;
  readonly #maxBytes: number;
  readonly #stores = { stdout: new ByteStore(), stderr: new ByteStore() };
  #length = 0;
  #isCut = false;

  constructor(quotaBytes: number | 'dialogue') {
    this.#isDialogue = quotaBytes === 'dialogue';
    this.#maxBytes = quotaBytes === 'dialogue' ? MOST_KEPT_BYTES : quotaBytes;
  }

  /** Of both streams, as passed on. */
  get length(): number {
    return this.#length;
  }

  get keptBytes(): number {
    return this.#stores.stdout.length + this.#stores.stderr.length;
  }

  /** Whether the child wrote more than is kept. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Whether the child wrote more than it may. */
  get quotaExceeded(): boolean {
    return this.#isCut && !this.#isDialogue;
  }

  /** Takes a chunk, and returns the part that is passed on. */
  take(stream: StreamName, chunk: Uint8Array): Uint8Array {
    if (!this.#isDialogue || stream === 'stderr') this.#keep(stream, chunk);
    const passed = this.#isDialogue ? chunk : chunk.subarray(0, this.keptBytes - this.#length);
    this.#length += passed.length;
    return passed;
  }

  bytes(stream: StreamName): Uint8Array {
    return this.#stores[stream].bytes();
  }

  #keep(stream: StreamName, chunk: Uint8Array): void {
    // Boundary: the quota counts both streams, so that neither can exceed it through the other.
    const kept = chunk.subarray(0, this.#maxBytes - this.keptBytes);
    this.#isCut ||= kept.length < chunk.length;
    this.#stores[stream].append(kept);
  }
}

/** The output of a command, in a form that JSON can carry without loss. */
type OutputText = { readonly text: string } | { readonly base64: string };

/** The longest sequence of UTF-8 has four bytes, so at most three can be left of one that was cut. */
const MAX_CUT_BYTES = 3;

/**
 * Returns text where the bytes are UTF-8, and base64 of all of them otherwise. Where they were cut off, an incomplete
 * last character is dropped; only that, so that no byte of binary data is lost.
 */
export function outputOf(bytes: Uint8Array, isCut: boolean): OutputText {
  const whole = isCut ? bytes.subarray(0, bytes.length - cutBytes(bytes)) : bytes;
  const { buffer, byteOffset } = bytes;
  return isUtf8(whole)
    ? { text: Buffer.from(buffer, byteOffset, whole.length).toString('utf8') }
    : { base64: Buffer.from(buffer, byteOffset, bytes.length).toString('base64') };
}

/** How many bytes at the end are an incomplete character. */
function cutBytes(bytes: Uint8Array): number {
  for (let count = 1; count <= Math.min(MAX_CUT_BYTES, bytes.length); count++) {
    const tail = bytes.subarray(bytes.length - count);
    const missing = sequenceLength(tail[0] ?? 0) - count;
    if (missing > 0) return isBeginning(tail, missing) ? count : 0;
  }
  return 0;
}

function sequenceLength(first: number): number {
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}

/** Any valid beginning is completed by the lowest or the highest of the bytes that may follow. */
function isBeginning(tail: Uint8Array, missing: number): boolean {
  return [0x80, 0xbf].some((byte) =>
    isUtf8(Uint8Array.from([...tail, ...Array<number>(missing).fill(byte)])),
  );
}
