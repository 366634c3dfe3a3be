import { type Codec, misfit } from './codec.ts';
import type { Passage } from './passage.ts';
import { type Place, spanCodec } from './span.ts';

/** `list<u8>`: bytes, copied as a whole. */
export const BYTES: Codec = spanCodec({
  take: (passage, pointer, length) => {
    passage.measure(length, 1);
    const at = passage.take(pointer, length, 1);
    passage.pay(length);
    return passage.bytes.slice(at, at + length);
  },
  put: (passage, value) => {
    if (!(value instanceof Uint8Array)) throw misfit('a Uint8Array', value);
    const length = passage.measure(value.length, 1);
    passage.pay(length);
    const pointer = passage.allocate(length, 1);
    passage.bytes.set(value, pointer);
    return { pointer, length };
  },
});

/** Any other list. */
export function listCodec(element: Codec): Codec {
  const { size, align, load, store } = element;
  const take = (passage: Passage, pointer: number, length: number): unknown[] => {
    const bytes = passage.measure(length, size);
    const first = passage.take(pointer, bytes, align);
    // Boundary: paid before an element is created. The same bytes can be read by many lists, and each of them pays.
    passage.pay(bytes, length);
    const list: unknown[] = [];
    for (let index = 0; index < length; index += 1) list.push(load(passage, first + index * size));
    return list;
  };
  const put = (passage: Passage, value: unknown): Place => {
    if (!Array.isArray(value)) throw misfit('an array', value);
    const { length } = value;
    const bytes = passage.measure(length, size);
    passage.pay(bytes, length);
    const pointer = passage.allocate(bytes, align);
    for (let index = 0; index < length; index += 1) store(passage, pointer + index * size, value[index]);
    return { pointer, length };
  };
  return spanCodec({ take, put });
}
