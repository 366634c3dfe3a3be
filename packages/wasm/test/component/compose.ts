/** Puts components together byte by byte. Nothing is checked; what is asked for is what is written. */
import { type Bytes, join, name, section, vector } from '../fixture/builder.ts';
import { signed, unsigned } from '../fixture/leb.ts';

export const COMPONENT_HEADER: Bytes = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

/** A component of ready-made sections, in the order given. */
export function componentOf(sections: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  return join([COMPONENT_HEADER, ...sections]);
}

export const WORDS = {
  bool: 0x7f,
  u8: 0x7d,
  u32: 0x79,
  u64: 0x77,
  f64: 0x75,
  string: 0x73,
} as const;

/** Sections, each of one or more entries. */
export const sections = {
  module: (bytes: Uint8Array) => join([[1], unsigned(bytes.length), bytes]),
  coreInstances: (...entries: Bytes[]) => section(2, vector(entries)),
  component: (bytes: Uint8Array) => join([[4], unsigned(bytes.length), bytes]),
  instances: (...entries: Bytes[]) => section(5, vector(entries)),
  aliases: (...entries: Bytes[]) => section(6, vector(entries)),
  types: (...entries: Bytes[]) => section(7, vector(entries)),
  canons: (...entries: Bytes[]) => section(8, vector(entries)),
  imports: (...entries: Bytes[]) => section(10, vector(entries)),
  exports: (...entries: Bytes[]) => section(11, vector(entries)),
};

/** A type's index as it stands in another type. */
export function use(index: number): number[] {
  return signed(index);
}

export const types = {
  func: (params: readonly (readonly [string, Bytes])[], result: Bytes | null) => [
    0x40,
    ...vector(params.map(([label, type]) => [...name(label), ...type])),
    ...(result === null ? [0x01, 0x00] : [0x00, ...result]),
  ],
  instance: (...declarations: Bytes[]) => [0x42, ...vector(declarations)],
  tuple: (...elements: Bytes[]) => [0x6f, ...vector(elements)],
  record: (fields: readonly (readonly [string, Bytes])[]) => [
    0x72,
    ...vector(fields.map(([label, type]) => [...name(label), ...type])),
  ],
};

/** Lines of the type of an instance. */
export const declarations = {
  type: (type: Bytes) => [0x01, ...type],
  outerType: (count: number, index: number) => [0x02, 0x03, 0x02, ...unsigned(count), ...unsigned(index)],
  func: (label: string, type: number) => [0x04, 0x00, ...name(label), 0x01, ...unsigned(type)],
};

export const externName = (text: string) => [0x00, ...name(text)];

export const coreInstance = {
  of: (module: number, args: readonly (readonly [string, number])[] = []) => [
    0x00,
    ...unsigned(module),
    ...vector(args.map(([label, index]) => [...name(label), 0x12, ...unsigned(index)])),
  ],
  bag: (entries: readonly (readonly [string, sort: number, index: number])[]) => [
    0x01,
    ...vector(entries.map(([label, sort, index]) => [...name(label), sort, ...unsigned(index)])),
  ],
};

export const instance = {
  of: (component: number, args: readonly (readonly [string, sort: number, index: number])[] = []) => [
    0x00,
    ...unsigned(component),
    ...vector(args.map(([label, sort, index]) => [...name(label), sort, ...unsigned(index)])),
  ],
};

/** Sorts of core items. */
export const CORE = { function: 0, table: 1, memory: 2, global: 3 } as const;

export const alias = {
  core: (sort: number, index: number, label: string) => [
    0x00,
    sort,
    0x01,
    ...unsigned(index),
    ...name(label),
  ],
  of: (sort: number, index: number, label: string) => [sort, 0x00, ...unsigned(index), ...name(label)],
  outer: (sort: Bytes, count: number, index: number) => [
    ...sort,
    0x02,
    ...unsigned(count),
    ...unsigned(index),
  ],
};

export const canon = {
  lift: (func: number, type: number, options: readonly Bytes[] = []) => [
    0x00,
    0x00,
    ...unsigned(func),
    ...vector(options),
    ...unsigned(type),
  ],
  lower: (func: number, options: readonly Bytes[] = []) => [
    0x01,
    0x00,
    ...unsigned(func),
    ...vector(options),
  ],
};

export const exported = (label: string, func: number) => [
  ...externName(label),
  0x01,
  ...unsigned(func),
  0x00,
];
