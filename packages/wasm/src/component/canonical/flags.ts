import { type Codec, mismatch, numberAt } from './codec.ts';

/** Flags: the names of those that are set, in their order. Bits without a name are ignored. */
export function flagsCodec(names: readonly string[]): Codec {
  const size = names.length <= 8 ? 1 : names.length <= 16 ? 2 : 4;
  const bits = new Map(names.map((name, bit) => [name, bit]));
  const listSet = (mask: number) => names.filter((_name, bit) => (mask >>> bit) & 1);
  const maskOf = (value: unknown) => {
    if (!Array.isArray(value)) throw mismatch('an array of flags', value);
    let mask = 0;
    for (const name of value) {
      const bit = bits.get(name);
      if (bit === undefined) throw mismatch(`flags of ${names.join(', ')}`, name);
      mask |= 1 << bit;
    }
    return mask >>> 0;
  };
  return {
    size,
    align: size,
    flat: ['i32'],
    load: ({ view }, at) => listSet(readUnsigned(view, at, size)),
    store: ({ view }, at, value) => writeUnsigned(view, at, size, maskOf(value)),
    lift: (_context, values, at) => listSet(numberAt(values, at)),
    lower: (_context, value, out) => {
      out.push(maskOf(value));
    },
  };
}

/** A number of 1, 2 or 4 bytes. */
export function readUnsigned(view: DataView, at: number, size: number): number {
  if (size === 1) return view.getUint8(at);
  return size === 2 ? view.getUint16(at, true) : view.getUint32(at, true);
}

export function writeUnsigned(view: DataView, at: number, size: number, value: number): void {
  if (size === 1) view.setUint8(at, value);
  else if (size === 2) view.setUint16(at, value, true);
  else view.setUint32(at, value, true);
}
