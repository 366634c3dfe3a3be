import { type Codec, mismatch } from './codec.ts';
import type { LiftLowerContext } from './lift-lower-context.ts';
import { type Span, spanCodec } from './span.ts';

/** `list<u8>`: bytes, copied as a whole. */
export const BYTES: Codec = spanCodec({
  take: (context, pointer, length) => {
    context.measure(length, 1);
    const at = context.take(pointer, length, 1);
    context.pay(length);
    return context.bytes.slice(at, at + length);
  },
  put: (context, value) => {
    if (!(value instanceof Uint8Array)) throw mismatch('a Uint8Array', value);
    const length = context.measure(value.length, 1);
    context.pay(length);
    const pointer = context.allocate(length, 1);
    context.bytes.set(value, pointer);
    return { pointer, length };
  },
});

/** Any other list. */
export function listCodec(element: Codec): Codec {
  const { size, align, load, store } = element;
  const take = (context: LiftLowerContext, pointer: number, length: number): unknown[] => {
    const bytes = context.measure(length, size);
    const first = context.take(pointer, bytes, align);
    // Boundary: paid before an element is created. The same bytes can be read by many lists, and each of them pays.
    context.pay(bytes, length);
    const list: unknown[] = [];
    for (let index = 0; index < length; index += 1) list.push(load(context, first + index * size));
    return list;
  };
  const put = (context: LiftLowerContext, value: unknown): Span => {
    if (!Array.isArray(value)) throw mismatch('an array', value);
    const { length } = value;
    const bytes = context.measure(length, size);
    context.pay(bytes, length);
    const pointer = context.allocate(bytes, align);
    for (let index = 0; index < length; index += 1) store(context, pointer + index * size, value[index]);
    return { pointer, length };
  };
  return spanCodec({ take, put });
}
