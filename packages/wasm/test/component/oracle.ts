/**
 * The canonical ABI in its plainest form, to compare with: everything is computed from the type each time, byte by byte,
 * with all that is special (tuples, enums, options, results) made a record or a variant first.
 */

import type { Named, WitType } from '../../src/component/types.ts';
import type { NumberType } from '../../src/instance/value.ts';

/** What the specification says a guest is stopped for. */
export class Trap extends Error {}

type Core = number | bigint;
type Record_ = { readonly kind: 'record'; readonly fields: readonly Named<WitType>[] };
type Variant = { readonly kind: 'variant'; readonly cases: readonly Named<WitType | null>[] };
type Kernel =
  | Exclude<WitType, { kind: 'tuple' | 'enum' | 'option' | 'result' | 'record' | 'variant' }>
  | Record_
  | Variant;

function kernelOf(type: WitType): Kernel {
  if (typeof type === 'string') return type;
  switch (type.kind) {
    case 'tuple':
      return { kind: 'record', fields: type.elements.map((each, index) => [String(index), each]) };
    case 'enum':
      return { kind: 'variant', cases: type.names.map((name) => [name, null]) };
    case 'option':
      return {
        kind: 'variant',
        cases: [
          ['none', null],
          ['some', type.some],
        ],
      };
    case 'result':
      return {
        kind: 'variant',
        cases: [
          ['ok', type.ok],
          ['error', type.error],
        ],
      };
    default:
      return type;
  }
}

const SIZES: Record<string, number> = {
  bool: 1,
  s8: 1,
  u8: 1,
  s16: 2,
  u16: 2,
  s32: 4,
  u32: 4,
  s64: 8,
  u64: 8,
  f32: 4,
  f64: 8,
  char: 4,
};

const tagBytes = (count: number) => (count <= 256 ? 1 : count <= 65_536 ? 2 : 4);
const roundUp = (at: number, align: number) => at + ((align - (at % align)) % align);

export function alignOf(type: WitType): number {
  const kernel = kernelOf(type);
  if (typeof kernel === 'string') return SIZES[kernel] ?? 4;
  if (kernel.kind === 'record') return Math.max(1, ...kernel.fields.map(([, each]) => alignOf(each)));
  if (kernel.kind === 'variant') return Math.max(tagBytes(kernel.cases.length), payloadAlign(kernel));
  return kernel.kind === 'flags' ? sizeOf(kernel) : 4;
}

const payloadAlign = ({ cases }: Variant) =>
  Math.max(1, ...cases.map(([, each]) => (each === null ? 1 : alignOf(each))));

export function sizeOf(type: WitType): number {
  const kernel = kernelOf(type);
  if (typeof kernel === 'string') return SIZES[kernel] ?? 8;
  switch (kernel.kind) {
    case 'list':
      return 8;
    case 'record': {
      let size = 0;
      for (const [, each] of kernel.fields) size = roundUp(size, alignOf(each)) + sizeOf(each);
      return roundUp(size, alignOf(kernel));
    }
    case 'variant': {
      const most = Math.max(0, ...kernel.cases.map(([, each]) => (each === null ? 0 : sizeOf(each))));
      return roundUp(payloadOffset(kernel) + most, alignOf(kernel));
    }
    case 'flags':
      return kernel.names.length <= 8 ? 1 : kernel.names.length <= 16 ? 2 : 4;
    default:
      return 4;
  }
}

const payloadOffset = (kernel: Variant) => roundUp(tagBytes(kernel.cases.length), payloadAlign(kernel));

export function flatOf(type: WitType): NumberType[] {
  const kernel = kernelOf(type);
  if (kernel === 's64' || kernel === 'u64') return ['i64'];
  if (kernel === 'f32' || kernel === 'f64') return [kernel];
  if (kernel === 'string') return ['i32', 'i32'];
  if (typeof kernel === 'string') return ['i32'];
  if (kernel.kind === 'list') return ['i32', 'i32'];
  if (kernel.kind === 'record') return kernel.fields.flatMap(([, each]) => flatOf(each));
  if (kernel.kind !== 'variant') return ['i32'];
  const joined: NumberType[] = [];
  for (const [, each] of kernel.cases) {
    for (const [index, wanted] of (each === null ? [] : flatOf(each)).entries()) {
      const had = joined[index] ?? wanted;
      const narrow = ['i32', 'f32'];
      joined[index] = had === wanted ? had : narrow.includes(had) && narrow.includes(wanted) ? 'i32' : 'i64';
    }
  }
  return ['i32', ...joined];
}

/** Bits of a core value, of its own width. */
function bitsOf(type: NumberType, value: Core): bigint {
  const view = new DataView(new ArrayBuffer(8));
  if (type === 'f32') view.setFloat32(4, Number(value));
  else if (type === 'f64') view.setFloat64(0, Number(value));
  else view.setBigUint64(0, BigInt.asUintN(type === 'i32' ? 32 : 64, BigInt(value)));
  return view.getBigUint64(0);
}

function coreOf(type: NumberType, bits: bigint): Core {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bits);
  if (type === 'f32') return view.getFloat32(4);
  if (type === 'f64') return view.getFloat64(0);
  return type === 'i32' ? view.getInt32(4) : view.getBigInt64(0);
}

/** A guest's memory, and an allocator for stored values. */
export class Oracle {
  readonly memory: () => Uint8Array;
  readonly allocate: (size: number, align: number) => number;

  constructor(memory: () => Uint8Array, allocate: (size: number, align: number) => number) {
    this.memory = memory;
    this.allocate = allocate;
  }

  number(at: number, size: number): bigint {
    let value = 0n;
    for (let index = size - 1; index >= 0; index -= 1)
      value = (value << 8n) | BigInt(this.memory()[at + index] ?? 0);
    return value;
  }

  put(at: number, size: number, value: bigint): void {
    for (let index = 0; index < size; index += 1)
      this.memory()[at + index] = Number((value >> BigInt(8 * index)) & 255n);
  }

  /** A value of the core type that memory holds the bytes of, from its bits. */
  plain(type: string, bits: bigint): unknown {
    const width = 8 * (SIZES[type] ?? 4);
    if (type === 'bool') return bits !== 0n;
    if (type === 's64') return BigInt.asIntN(64, bits);
    if (type === 'u64') return bits;
    if (type === 'f32' || type === 'f64') return coreOf(type, bits);
    if (type.startsWith('s')) return Number(BigInt.asIntN(width, bits));
    if (type !== 'char') return Number(BigInt.asUintN(width, bits));
    if (bits >= 0x110000n || (bits >= 0xd800n && bits <= 0xdfffn)) throw new Trap('char');
    return String.fromCodePoint(Number(bits));
  }

  bitsOfPlain(type: string, value: unknown): bigint {
    if (type === 'char') return BigInt(String(value).codePointAt(0) ?? 0);
    if (type === 'f32' || type === 'f64') return bitsOf(type, value as number);
    return BigInt.asUintN(8 * (SIZES[type] ?? 4), BigInt(value as number));
  }

  load(type: WitType, at: number): unknown {
    const kernel = kernelOf(type);
    if (kernel === 'string') return this.text(Number(this.number(at, 4)), Number(this.number(at + 4, 4)));
    if (typeof kernel === 'string') return this.plain(kernel, this.number(at, SIZES[kernel] ?? 0));
    switch (kernel.kind) {
      case 'list':
        return this.list(kernel.element, Number(this.number(at, 4)), Number(this.number(at + 4, 4)));
      case 'record': {
        let offset = at;
        const parts = kernel.fields.map(([, each]) => {
          offset = roundUp(offset, alignOf(each));
          const value = this.load(each, offset);
          offset += sizeOf(each);
          return value;
        });
        return dressRecord(type, kernel, parts);
      }
      case 'variant': {
        const index = Number(this.number(at, tagBytes(kernel.cases.length)));
        const found = kernel.cases[index];
        if (found === undefined) throw new Trap('discriminant');
        return dressVariant(
          type,
          found,
          found[1] === null ? null : this.load(found[1], at + payloadOffset(kernel)),
        );
      }
      case 'flags':
        return setFlags(kernel.names, this.number(at, sizeOf(kernel)));
      default:
        return Number(this.number(at, 4));
    }
  }

  store(type: WitType, at: number, value: unknown): void {
    const kernel = kernelOf(type);
    if (typeof kernel === 'string' && kernel !== 'string') {
      this.put(at, SIZES[kernel] ?? 0, this.bitsOfPlain(kernel, value));
    } else if (kernel === 'string' || kernel.kind === 'list') {
      const [pointer, length] = this.storeSpan(kernel, value);
      this.put(at, 4, BigInt(pointer));
      this.put(at + 4, 4, BigInt(length));
    } else if (kernel.kind === 'record') {
      let offset = at;
      for (const [index, [, each]] of kernel.fields.entries()) {
        offset = roundUp(offset, alignOf(each));
        this.store(each, offset, partOf(type, kernel, value, index));
        offset += sizeOf(each);
      }
    } else if (kernel.kind === 'variant') {
      const [index, payload] = undressVariant(type, kernel, value);
      const chosen = kernel.cases[index]?.[1] ?? null;
      this.put(at, tagBytes(kernel.cases.length), BigInt(index));
      if (chosen !== null) this.store(chosen, at + payloadOffset(kernel), payload);
    } else if (kernel.kind === 'flags') this.put(at, sizeOf(kernel), flagBits(kernel.names, value));
    else this.put(at, 4, BigInt(value as number));
  }

  lift(type: WitType, values: readonly Core[]): unknown {
    const kernel = kernelOf(type);
    const pair = () => values.map((each) => Number(BigInt.asUintN(32, BigInt(each))));
    if (kernel === 'string') return this.text(pair()[0] ?? 0, pair()[1] ?? 0);
    if (typeof kernel === 'string') {
      const [flat = 'i32'] = flatOf(kernel);
      const bits = bitsOf(flat, values[0] ?? 0);
      return this.plain(
        kernel,
        kernel === 'bool' || kernel === 'char' ? bits : BigInt.asUintN(8 * (SIZES[kernel] ?? 0), bits),
      );
    }
    switch (kernel.kind) {
      case 'list':
        return this.list(kernel.element, pair()[0] ?? 0, pair()[1] ?? 0);
      case 'record': {
        let at = 0;
        const parts = kernel.fields.map(([, each]) => {
          const { length } = flatOf(each);
          at += length;
          return this.lift(each, values.slice(at - length, at));
        });
        return dressRecord(type, kernel, parts);
      }
      case 'variant': {
        const found = kernel.cases[Number(BigInt.asUintN(32, BigInt(values[0] ?? 0)))];
        if (found === undefined) throw new Trap('discriminant');
        if (found[1] === null) return dressVariant(type, found, null);
        const shared = flatOf(kernel).slice(1);
        const own = flatOf(found[1]).map((wanted, index) =>
          coreOf(wanted, bitsOf(shared[index] ?? 'i32', values[index + 1] ?? 0)),
        );
        return dressVariant(type, found, this.lift(found[1], own));
      }
      case 'flags':
        return setFlags(kernel.names, BigInt.asUintN(32, BigInt(values[0] ?? 0)));
      default:
        return pair()[0];
    }
  }

  lower(type: WitType, value: unknown): Core[] {
    const kernel = kernelOf(type);
    if (typeof kernel === 'string' && kernel !== 'string') {
      if (kernel === 'f32' || kernel === 'f64') return [value as number];
      if (kernel === 's64' || kernel === 'u64') return [value as bigint];
      return [kernel === 'char' ? Number(this.bitsOfPlain(kernel, value)) : Number(value)];
    }
    if (kernel === 'string' || kernel.kind === 'list') return this.storeSpan(kernel, value);
    if (kernel.kind === 'record')
      return kernel.fields.flatMap(([, each], index) => this.lower(each, partOf(type, kernel, value, index)));
    if (kernel.kind === 'flags') return [Number(flagBits(kernel.names, value))];
    if (kernel.kind !== 'variant') return [value as number];
    const [index, payload] = undressVariant(type, kernel, value);
    const chosen = kernel.cases[index]?.[1] ?? null;
    const own = chosen === null ? [] : this.lower(chosen, payload);
    const ownTypes = chosen === null ? [] : flatOf(chosen);
    const shared = flatOf(kernel).slice(1);
    return [
      index,
      ...shared.map((wanted, at) =>
        coreOf(wanted, own[at] === undefined ? 0n : bitsOf(ownTypes[at] ?? 'i32', own[at])),
      ),
    ];
  }

  text(pointer: number, length: number): string {
    this.inside(pointer, length, 1);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
        this.memory().slice(pointer, pointer + length),
      );
    } catch {
      throw new Trap('utf-8');
    }
  }

  list(element: WitType, pointer: number, length: number): unknown {
    this.inside(pointer, length * sizeOf(element), alignOf(element));
    const values = Array.from({ length }, (_none, index) =>
      this.load(element, pointer + index * sizeOf(element)),
    );
    return element === 'u8' ? Uint8Array.from(values as number[]) : values;
  }

  inside(pointer: number, size: number, align: number): void {
    if (size > 2 ** 28 - 1 || pointer % align !== 0 || pointer + size > this.memory().length)
      throw new Trap('place');
  }

  storeSpan(kernel: 'string' | { kind: 'list'; element: WitType }, value: unknown): [number, number] {
    if (kernel === 'string') {
      const bytes = new TextEncoder().encode(String(value));
      const pointer = this.allocate(bytes.length, 1);
      for (const [index, byte] of bytes.entries()) this.memory()[pointer + index] = byte;
      return [pointer, bytes.length];
    }
    const values = [...(value as Iterable<unknown>)];
    const size = sizeOf(kernel.element);
    const pointer = this.allocate(size * values.length, alignOf(kernel.element));
    for (const [index, each] of values.entries()) this.store(kernel.element, pointer + index * size, each);
    return [pointer, values.length];
  }
}

function dressRecord(type: WitType, kernel: Record_, parts: readonly unknown[]): unknown {
  if (typeof type !== 'string' && type.kind === 'tuple') return parts;
  return Object.fromEntries(kernel.fields.map(([name], index) => [name, parts[index]]));
}

function partOf(type: WitType, kernel: Record_, value: unknown, index: number): unknown {
  if (typeof type !== 'string' && type.kind === 'tuple') return (value as unknown[])[index];
  return (value as Record<string, unknown>)[kernel.fields[index]?.[0] ?? ''];
}

function dressVariant(type: WitType, [name]: Named<WitType | null>, payload: unknown): unknown {
  if (typeof type !== 'string' && type.kind === 'enum') return name;
  if (typeof type !== 'string' && type.kind === 'option') return name === 'none' ? null : payload;
  return { tag: name, value: payload };
}

function undressVariant(type: WitType, { cases }: Variant, value: unknown): [number, unknown] {
  if (typeof type !== 'string' && type.kind === 'option') return value === null ? [0, null] : [1, value];
  const isEnum = typeof type !== 'string' && type.kind === 'enum';
  const { tag, value: payload } = isEnum
    ? { tag: value, value: null }
    : (value as { tag: string; value: unknown });
  return [cases.findIndex(([name]) => name === tag), payload];
}

function setFlags(names: readonly string[], bits: bigint): string[] {
  return names.filter((_name, bit) => ((bits >> BigInt(bit)) & 1n) === 1n);
}

function flagBits(names: readonly string[], value: unknown): bigint {
  return (value as string[]).reduce((bits, name) => bits | (1n << BigInt(names.indexOf(name))), 0n);
}
