import type { Codec } from './codec.ts';
import { numberAt } from './codec.ts';
import type { Passage } from './passage.ts';

/** A value elsewhere in memory: a pointer, and a length in elements. */
export type Span = {
  /** Reads what the guest says is there. */
  readonly take: (passage: Passage, pointer: number, length: number) => unknown;
  /** Stores a value in memory that the guest allocates, and returns its address. */
  readonly put: (passage: Passage, value: unknown) => Place;
};

export type Place = { readonly pointer: number; readonly length: number };

/** Strings and lists. */
export function spanCodec({ take, put }: Span): Codec {
  return {
    size: 8,
    align: 4,
    flat: ['i32', 'i32'],
    load: (passage, at) =>
      take(passage, passage.view.getUint32(at, true), passage.view.getUint32(at + 4, true)),
    store: (passage, at, value) => {
      const { pointer, length } = put(passage, value);
      // The guest ran to allocate: the view is taken only now.
      passage.view.setUint32(at, pointer, true);
      passage.view.setUint32(at + 4, length, true);
    },
    lift: (passage, values, at) => take(passage, numberAt(values, at) >>> 0, numberAt(values, at + 1) >>> 0),
    lower: (passage, value, out) => {
      const { pointer, length } = put(passage, value);
      out.push(pointer, length);
    },
  };
}
