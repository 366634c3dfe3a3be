import type { WitType } from '../types.ts';
import type { Codec, Layout } from './codec.ts';
import { flagsCodec } from './flags.ts';
import { BYTES, listCodec } from './list.ts';
import { plainCodec, scalarCodec } from './plain.ts';
import { recordCodec, tupleCodec } from './record.ts';
import { HANDLE } from './scalar.table.ts';
import { variantCodec } from './variant.ts';
import { enumForm, OPTIONAL, taggedForm } from './variant-form.ts';

/** More have no layout in the canonical ABI. */
const MOST_FLAGS = 32;

/**
 * How values of a type cross. In JavaScript 64-bit integers are bigints, `list<u8>` is a Uint8Array, a record is an
 * object with the keys of its WIT, a tuple an array, an enum its name, flags an array of names, an option the value or
 * null, a variant or result `{ tag, value }`, a handle a number.
 */
export function codecOf(type: WitType): Codec {
  if (typeof type === 'string') return plainCodec(type);
  switch (type.kind) {
    case 'list':
      return type.element === 'u8' ? BYTES : listCodec(codecOf(type.element));
    case 'record':
      requireSome(type.kind, type.fields);
      return recordCodec(type.fields.map(([name, field]) => [name, codecOf(field)]));
    case 'tuple':
      requireSome(type.kind, type.elements);
      return tupleCodec(type.elements.map(codecOf));
    case 'variant':
      requireSome(type.kind, type.cases);
      return variantCodec(
        type.cases.map(([, payload]) => codecOrNull(payload)),
        taggedForm(type.cases.map(([name]) => name)),
      );
    case 'enum':
      requireSome(type.kind, type.names);
      return variantCodec(
        type.names.map(() => null),
        enumForm(type.names),
      );
    case 'flags':
      requireSome(type.kind, type.names, MOST_FLAGS);
      return flagsCodec(type.names);
    case 'option':
      requirePlainOption(type.some);
      return variantCodec([null, codecOf(type.some)], OPTIONAL);
    case 'result':
      return variantCodec([codecOrNull(type.ok), codecOrNull(type.error)], taggedForm(['ok', 'error']));
    case 'own':
    case 'borrow':
      return scalarCodec(HANDLE);
  }
}

/** The layout of a type in memory and in core values. */
export function layoutOf(type: WitType): Layout {
  const { size, align, flat } = codecOf(type);
  return { size, align, flat };
}

function codecOrNull(type: WitType | null): Codec | null {
  return type === null ? null : codecOf(type);
}

function requireSome(kind: string, parts: readonly unknown[], most = Number.POSITIVE_INFINITY): void {
  if (parts.length >= 1 && parts.length <= most) return;
  const expected = most === Number.POSITIVE_INFINITY ? 'one or more' : `1 to ${most}`;
  throw new TypeError(`Cannot lay out ${kind}: it has ${parts.length} parts, expected ${expected}`);
}

function requirePlainOption(some: WitType): void {
  if (typeof some === 'string' || some.kind !== 'option') return;
  throw new TypeError('Cannot lay out option: it holds another option, expected one whose null is its own');
}
