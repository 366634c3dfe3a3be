import type { Cursor } from '../../read/cursor.ts';
import { malformed } from '../../read/refusal.ts';
import { type Reading, readText, refused } from './reading.ts';
import {
  type Alias,
  CORE_SORTS,
  type CoreSort,
  type Description,
  type Extern,
  type NamedIndex,
  type Sort,
} from './syntax.ts';

const CORE = 0x00;
const CORE_MODULE = 0x11;
const CORE_INSTANCE = 0x12;
const SORTS: readonly (Sort | undefined)[] = [undefined, 'func', undefined, 'type', 'component', 'instance'];
const VALUE = 0x02;

/** The sort of an item in core modules: a function, table, memory or global. */
export function readCoreSort(cursor: Cursor): CoreSort {
  const offset = cursor.at;
  const byte = cursor.u8('a core sort');
  const sort = CORE_SORTS[byte];
  if (sort === undefined) throw refused(`core sort 0x${byte.toString(16)}`, offset);
  return sort;
}

export function readSort(cursor: Cursor): Sort {
  const offset = cursor.at;
  const byte = cursor.u8('a sort');
  if (byte === CORE) return readInnerSort(cursor);
  if (byte === VALUE) throw refused('values', offset);
  const sort = SORTS[byte];
  if (sort === undefined) throw malformed(`sort ${byte} is not known, expected 0 to 5`, offset);
  return sort;
}

function readInnerSort(cursor: Cursor): Sort {
  const byte = cursor.bytes[cursor.at];
  if (byte !== CORE_MODULE && byte !== CORE_INSTANCE) return readCoreSort(cursor);
  cursor.u8('a core sort');
  return byte === CORE_MODULE ? 'module' : 'core-instance';
}

/** The name of an import or export of a component; only the plain forms are accepted. */
export function readExternName(cursor: Cursor, reading: Reading): string {
  const offset = cursor.at;
  const form = cursor.u8("a name's form");
  if (form > 1) throw refused(`name of form ${form}`, offset);
  return readText(cursor, reading);
}

/** An argument of an instantiation: its name, then what it refers to. */
export function readArgument(cursor: Cursor, reading: Reading): NamedIndex {
  const name = readText(cursor, reading);
  const sort = readSort(cursor);
  return { name, sort, index: cursor.u32('an index') };
}

export function readBagEntry(cursor: Cursor, reading: Reading): NamedIndex {
  const name = readExternName(cursor, reading);
  const sort = readSort(cursor);
  return { name, sort, index: cursor.u32('an index') };
}

export function readExtern(cursor: Cursor, reading: Reading): Extern {
  const name = readExternName(cursor, reading);
  return { name, description: readDescription(cursor) };
}

export function readDescription(cursor: Cursor): Description {
  const offset = cursor.at;
  const byte = cursor.u8('a kind');
  switch (byte) {
    case 0x00:
      throw refused('core module as import or export', offset);
    case 0x01:
      return { kind: 'func', type: cursor.u32('an index') };
    case VALUE:
      throw refused('values', offset);
    case 0x03:
      return readTypeBound(cursor);
    case 0x04:
      return { kind: 'component', type: cursor.u32('an index') };
    case 0x05:
      return { kind: 'instance', type: cursor.u32('an index') };
    default:
      throw malformed(`kind ${byte} is not known, expected 0 to 5`, offset);
  }
}

function readTypeBound(cursor: Cursor): Description {
  const offset = cursor.at;
  const bound = cursor.u8("a type's bound");
  if (bound === 0) return { kind: 'type', type: cursor.u32('an index') };
  if (bound === 1) return { kind: 'resource' };
  throw malformed(`a type's bound is ${bound}, expected 0 or 1`, offset);
}

export function readAlias(cursor: Cursor, reading: Reading): Alias {
  const sort = readSort(cursor);
  const offset = cursor.at;
  const target = cursor.u8("an alias's target");
  if (target === 2)
    return { kind: 'outer', sort, count: cursor.u32('a count'), index: cursor.u32('an index') };
  if (target > 2) throw malformed(`an alias's target is ${target}, expected 0 to 2`, offset);
  const instance = cursor.u32('an index');
  const name = readText(cursor, reading);
  if (target === 0) return { kind: 'export', sort, instance, name };
  const coreSort = CORE_SORTS.find((each) => each === sort);
  if (coreSort === undefined)
    throw malformed(`an alias of a core export is a ${sort}, expected a core sort`, offset);
  return { kind: 'core-export', sort: coreSort, instance, name };
}
