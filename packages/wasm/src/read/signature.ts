import type { ExternKind, FunctionType, Global, Memory, Table, ValueType, WasmModule } from './module.ts';

const NAMES: Readonly<Record<ValueType, string>> = {
  127: 'i32',
  126: 'i64',
  125: 'f32',
  124: 'f64',
  123: 'v128',
  112: 'funcref',
  111: 'externref',
};

/** The name of a type in the text format. */
export function writeValueType(type: ValueType): string {
  return NAMES[type] ?? `0x${type.toString(16)}`;
}

/** `(i32, i32) -> i64`; several results, or none, are in brackets. */
export function writeFunctionType({ params, results }: FunctionType): string {
  const types = results.map(writeValueType);
  return `(${params.map(writeValueType).join(', ')}) -> ${types.length === 1 ? types[0] : `(${types.join(', ')})`}`;
}

/** `memory 1..16 pages`; without a maximum `memory 1.. pages`. */
export function writeMemory({ min, max }: Memory): string {
  return `memory ${min}..${max ?? ''} pages`;
}

/** `table 1..16 funcref`; without a maximum `table 1.. funcref`. */
export function writeTable({ min, max, reference }: Table): string {
  return `table ${min}..${max ?? ''} ${writeValueType(reference)}`;
}

/** `global i32`, or `global mut i32` where it can change. */
export function writeGlobal({ type, mutable }: Global): string {
  return `global ${mutable ? 'mut ' : ''}${writeValueType(type)}`;
}

/** Returns a function that writes types of imports and exports. Each function type is written once, however often used. */
export function signatureWriter(module: WasmModule): (kind: ExternKind, index: number) => string {
  const written = new Map<number, string>();
  // Boundary: 50,000 exports of one long type share one text.
  const writeFunction = (typeIndex: number): string => {
    const known = written.get(typeIndex);
    if (known !== undefined) return known;
    const text = writeFunctionType(at(module.types, typeIndex));
    written.set(typeIndex, text);
    return text;
  };
  return (kind, index) => {
    switch (kind) {
      case 'function':
        return writeFunction(module.functions[index] ?? -1);
      case 'table':
        return writeTable(at(module.tables, index));
      case 'memory':
        return writeMemory(at(module.memories, index));
      case 'global':
        return writeGlobal(at(module.globals, index));
    }
  };
}

/** An entry that the reader has checked. */
function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new TypeError(`Cannot write signature: ${index} does not exist`);
  return item;
}
