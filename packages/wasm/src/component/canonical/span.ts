import type { Codec } from './codec.ts';
import { numberAt } from './codec.ts';
import type { LiftLowerContext } from './lift-lower-context.ts';

/** A value elsewhere in memory: a pointer, and a length in elements. */
export type SpanAccess = {
  /** Reads what the guest says is there. */
  readonly take: (context: LiftLowerContext, pointer: number, length: number) => unknown;
  /** Stores a value in memory that the guest allocates, and returns its address. */
  readonly put: (context: LiftLowerContext, value: unknown) => Span;
};

export type Span = { readonly pointer: number; readonly length: number };

/** Strings and lists. */
export function spanCodec({ take, put }: SpanAccess): Codec {
  return {
    size: 8,
    align: 4,
    flat: ['i32', 'i32'],
    load: (context, at) =>
      take(context, context.view.getUint32(at, true), context.view.getUint32(at + 4, true)),
    store: (context, at, value) => {
      const { pointer, length } = put(context, value);
      // The guest ran to allocate: the view is taken only now.
      context.view.setUint32(at, pointer, true);
      context.view.setUint32(at + 4, length, true);
    },
    lift: (context, values, at) => take(context, numberAt(values, at) >>> 0, numberAt(values, at + 1) >>> 0),
    lower: (context, value, out) => {
      const { pointer, length } = put(context, value);
      out.push(pointer, length);
    },
  };
}
