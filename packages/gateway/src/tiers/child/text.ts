import { isUtf8 } from 'node:buffer';

/** What a command wrote, in a form that JSON can carry without loss. */
export type OutputText = { readonly text: string } | { readonly base64: string };

/** The longest sequence of UTF-8 has four bytes, so at most three can be left of one that was cut. */
const MAX_CUT_BYTES = 3;

/**
 * Gives text where the bytes are UTF-8, and base64 of all of them otherwise. Where they were cut off, a character that
 * lost its end goes away; only such a one, so that no byte of something that is not text is lost.
 */
export function outputOf(bytes: Uint8Array, isCut: boolean): OutputText {
  const whole = isCut ? bytes.subarray(0, bytes.length - cutBytes(bytes)) : bytes;
  const { buffer, byteOffset } = bytes;
  return isUtf8(whole)
    ? { text: Buffer.from(buffer, byteOffset, whole.length).toString('utf8') }
    : { base64: Buffer.from(buffer, byteOffset, bytes.length).toString('base64') };
}

/** How many bytes at the end are the beginning of a character and no more. */
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

/** Each beginning that has an end at all is made whole by the lowest or by the highest of the bytes that may follow. */
function isBeginning(tail: Uint8Array, missing: number): boolean {
  return [0x80, 0xbf].some((byte) =>
    isUtf8(Uint8Array.from([...tail, ...Array<number>(missing).fill(byte)])),
  );
}
