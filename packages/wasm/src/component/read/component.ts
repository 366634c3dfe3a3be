/**
 * The reader of components. It takes untrusted bytes and returns what their sections say, as plain data with unresolved
 * indices, or a WasmError with the offset of the wrong byte. Core modules are located but not parsed. What our worlds
 * cannot have (streams, futures, threads, …) is refused here by name.
 */
import type { Limits } from '../../limits.ts';
import { Cursor } from '../../read/cursor.ts';
import { malformed, requireWithin } from '../../read/refusal.ts';
import { readCanon } from './canons.ts';
import {
  readAlias,
  readArgument,
  readBagEntry,
  readCoreSort,
  readDescription,
  readExtern,
  readExternName,
  readSort,
} from './externs.ts';
import {
  countEntries,
  newReading,
  type Reading,
  readList,
  readText,
  refused,
  requireDepth,
} from './reading.ts';
import { REFUSED_SECTIONS } from './refused.table.ts';
import type { ComponentSyntax, Definition, Instantiation, NamedIndex } from './syntax.ts';
import { readTypeDefinition } from './types.ts';

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];
const CUSTOM = 0;
const MODULE = 1;
const COMPONENT = 4;
const CORE_INSTANCE = 0x12;

/** Whether the bytes begin like a component. */
export function isComponent(bytes: Uint8Array): boolean {
  return HEADER.every((byte, index) => bytes[index] === byte);
}

/** Reads all sections of a component and of those inside it. Throws nothing but WasmError, with an offset. */
export function readComponent(bytes: Uint8Array, limits: Limits): ComponentSyntax {
  requireWithin('moduleBytes', bytes.length, limits, 0);
  return readNested(new Cursor(bytes), newReading(limits), 0);
}

function readNested(cursor: Cursor, reading: Reading, depth: number): ComponentSyntax {
  const start = cursor.at;
  requireDepth(depth, start);
  for (const byte of HEADER) {
    if (cursor.u8('the header') !== byte) {
      throw malformed('it does not begin like a component, expected "\\0asm" and its version', start);
    }
  }
  const definitions: Definition[] = [];
  while (cursor.left > 0) {
    const offset = cursor.at;
    const id = cursor.u8('a section id');
    const size = cursor.u32('a section size');
    const content = cursor.at;
    cursor.skip(size, `section ${id}`);
    const section = new Cursor(cursor.bytes, content, cursor.at);
    for (const definition of readSection({ id, section, reading, depth }, offset))
      definitions.push(definition);
    // Boundary: a section must not contain unread bytes.
    if (section.left > 0)
      throw malformed(`section ${id} has ${section.left} bytes too many, expected its end`, section.at);
  }
  return { definitions };
}

type Part = {
  readonly id: number;
  readonly section: Cursor;
  readonly reading: Reading;
  readonly depth: number;
};

function readSection({ id, section, reading, depth }: Part, offset: number): readonly Definition[] {
  const start = section.at;
  countEntries(reading, 1, offset);
  switch (id) {
    case CUSTOM:
      section.skip(section.left, 'a custom section');
      return [];
    case MODULE:
      section.skip(section.left, 'a module');
      return [{ kind: 'module', start, end: section.end, offset }];
    case COMPONENT:
      return [{ kind: 'component', component: readNested(section, reading, depth + 1), offset }];
    default:
      return readEntries({ id, section, reading, depth }, offset);
  }
}

function readEntries({ id, section, reading, depth }: Part, offset: number): readonly Definition[] {
  const read = READERS[id];
  if (read === undefined) {
    const name = REFUSED_SECTIONS[id];
    if (name !== undefined) throw refused(name, offset);
    throw malformed(`section id ${id} is not known, expected 0 to 12`, offset);
  }
  return readList(section, reading, 1, () => read(section, reading, depth));
}

type ReadEntry = (cursor: Cursor, reading: Reading, depth: number) => Definition;

const READERS: Readonly<Record<number, ReadEntry>> = {
  2: (cursor, reading) => ({
    offset: cursor.at,
    kind: 'core-instance',
    made: readCoreInstance(cursor, reading),
  }),
  5: (cursor, reading) => ({ offset: cursor.at, kind: 'instance', made: readInstance(cursor, reading) }),
  6: (cursor, reading) => ({ offset: cursor.at, kind: 'alias', alias: readAlias(cursor, reading) }),
  7: (cursor, reading, depth) => ({
    offset: cursor.at,
    kind: 'type',
    type: readTypeDefinition(cursor, reading, depth),
  }),
  8: (cursor, reading) => ({ offset: cursor.at, kind: 'canon', canon: readCanon(cursor, reading) }),
  10: (cursor, reading) => ({ offset: cursor.at, kind: 'import', ...readExtern(cursor, reading) }),
  11: (cursor, reading) => ({ offset: cursor.at, kind: 'export', ...readExport(cursor, reading) }),
};

function readCoreInstance(cursor: Cursor, reading: Reading): Instantiation {
  if (readForm(cursor) === 0) {
    const of = cursor.u32('an index');
    return { kind: 'instantiate', of, args: readList(cursor, reading, 3, readCoreArgument) };
  }
  const exports = readList(cursor, reading, 3, (): NamedIndex => {
    const name = readText(cursor, reading);
    const sort = readCoreSort(cursor);
    return { name, sort, index: cursor.u32('an index') };
  });
  return { kind: 'bag', exports };
}

function readCoreArgument(cursor: Cursor, reading: Reading): NamedIndex {
  const name = readText(cursor, reading);
  const offset = cursor.at;
  if (cursor.u8('a core sort') !== CORE_INSTANCE) {
    throw malformed('an argument of a core module is not an instance, expected one', offset);
  }
  return { name, sort: 'core-instance', index: cursor.u32('an index') };
}

function readInstance(cursor: Cursor, reading: Reading): Instantiation {
  if (readForm(cursor) === 0) {
    const of = cursor.u32('an index');
    return { kind: 'instantiate', of, args: readList(cursor, reading, 3, readArgument) };
  }
  return { kind: 'bag', exports: readList(cursor, reading, 4, readBagEntry) };
}

function readForm(cursor: Cursor): number {
  const offset = cursor.at;
  const form = cursor.u8("an instance's form");
  if (form > 1) throw malformed(`an instance has form ${form}, expected 0 or 1`, offset);
  return form;
}

/** The declared type of an export is read and ignored: the actual one is known. */
function readExport(cursor: Cursor, reading: Reading): NamedIndex {
  const name = readExternName(cursor, reading);
  const sort = readSort(cursor);
  const index = cursor.u32('an index');
  const offset = cursor.at;
  const mark = cursor.u8('a mark');
  if (mark > 1) throw malformed(`a mark is ${mark}, expected 0 or 1`, offset);
  if (mark === 1) readDescription(cursor);
  return { name, sort, index };
}
