import { type Codec, mismatch } from './codec.ts';
import type { LiftLowerContext } from './lift-lower-context.ts';
import { type Span, spanCodec } from './span.ts';

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const ENCODER = new TextEncoder();

/** Where short texts are encoded; a text takes at most three bytes for each of its UTF-16 units. */
const SCRATCH = new Uint8Array(4096);
const MOST_BYTES_PER_UNIT = 3;

/** Text as UTF-8. */
export const TEXT: Codec = spanCodec({ take, put });

function take(context: LiftLowerContext, pointer: number, length: number): string {
  context.measure(length, 1);
  const at = context.take(pointer, length, 1);
  context.pay(length);
  try {
    return DECODER.decode(context.bytes.subarray(at, at + length));
  } catch (cause) {
    throw context.trap('utf-8', `the ${length} bytes at ${at} are not UTF-8`, 'text', cause);
  }
}

function put(context: LiftLowerContext, value: unknown): Span {
  if (typeof value !== 'string') throw mismatch('a string', value);
  const encoded = encode(value);
  const length = context.measure(encoded.length, 1);
  context.pay(length);
  const pointer = context.allocate(length, 1);
  context.bytes.set(encoded, pointer);
  return { pointer, length };
}

/** Well-formed in any case: a lone surrogate becomes U+FFFD. Valid until the next text. */
function encode(text: string): Uint8Array {
  if (text.length * MOST_BYTES_PER_UNIT > SCRATCH.length) return ENCODER.encode(text);
  return SCRATCH.subarray(0, ENCODER.encodeInto(text, SCRATCH).written);
}
