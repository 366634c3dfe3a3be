import type { NumberType } from '../../instance/value.ts';
import type { Named } from '../types.ts';
import { alignTo, type Codec, type Layout, mismatch } from './codec.ts';

/** Values one after the other, with the offset of each. */
type Row = Layout & {
  readonly parts: readonly Part[];
};

type Part = {
  readonly codec: Codec;
  readonly offset: number;
  /** Where its core values begin. */
  readonly flatAt: number;
};

function layOut(codecs: readonly Codec[]): Row {
  const parts: Part[] = [];
  const flat: NumberType[] = [];
  let offset = 0;
  let align = 1;
  for (const codec of codecs) {
    offset = alignTo(offset, codec.align);
    parts.push({ codec, offset, flatAt: flat.length });
    offset += codec.size;
    align = Math.max(align, codec.align);
    flat.push(...codec.flat);
  }
  return { size: alignTo(offset, align), align, flat, parts };
}

/** A tuple: an array of a fixed length. */
export function tupleCodec(codecs: readonly Codec[]): Codec {
  const { size, align, flat, parts } = layOut(codecs);
  return {
    size,
    align,
    flat,
    load: (context, at) => parts.map(({ codec, offset }) => codec.load(context, at + offset)),
    store: (context, at, value) => {
      const values = requireTuple(value, parts.length);
      parts.forEach(({ codec, offset }, index) => {
        codec.store(context, at + offset, values[index]);
      });
    },
    lift: (context, values, at) => parts.map(({ codec, flatAt }) => codec.lift(context, values, at + flatAt)),
    lower: (context, value, out) => {
      const values = requireTuple(value, parts.length);
      parts.forEach(({ codec }, index) => {
        codec.lower(context, values[index], out);
      });
    },
  };
}

function requireTuple(value: unknown, length: number): readonly unknown[] {
  if (Array.isArray(value) && value.length === length) return value;
  throw mismatch(`an array of ${length}`, value);
}

type Fields = Record<string, unknown>;

/** A record: an object with the names of the WIT as its keys. */
export function recordCodec(fields: readonly Named<Codec>[]): Codec {
  const { size, align, flat, parts } = layOut(fields.map(([, codec]) => codec));
  const named = parts.map((part, index) => ({ ...part, name: fields[index]?.[0] ?? '' }));
  return {
    size,
    align,
    flat,
    load: (context, at) => {
      const record: Fields = {};
      for (const { name, codec, offset } of named) record[name] = codec.load(context, at + offset);
      return record;
    },
    store: (context, at, value) => {
      const record = requireRecord(value);
      for (const { name, codec, offset } of named) codec.store(context, at + offset, record[name]);
    },
    lift: (context, values, at) => {
      const record: Fields = {};
      for (const { name, codec, flatAt } of named) record[name] = codec.lift(context, values, at + flatAt);
      return record;
    },
    lower: (context, value, out) => {
      const record = requireRecord(value);
      for (const { name, codec } of named) codec.lower(context, record[name], out);
    },
  };
}

function requireRecord(value: unknown): Fields {
  if (typeof value === 'object' && value !== null) return value as Fields;
  throw mismatch('an object', value);
}
