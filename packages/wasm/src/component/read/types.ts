import type { Cursor } from '../../read/cursor.ts';
import { malformed } from '../../read/refusal.ts';
import { PLAIN_TYPES } from '../types.ts';
import { readAlias, readExtern } from './externs.ts';
import { type Reading, readList, readText, refused, requireDepth } from './reading.ts';
import { REFUSED_TYPES } from './refused.table.ts';
import type { Declaration, LabelledUse, TypeDefinition, TypeUse } from './syntax.ts';

/** The bytes of plain types go downward from here. */
const FIRST_PLAIN = 0x7f;
const FUNC = 0x40;
const COMPONENT = 0x41;
const INSTANCE = 0x42;

/** One type definition; `depth` counts the types of instances and components around it. */
export function readTypeDefinition(cursor: Cursor, reading: Reading, depth: number): TypeDefinition {
  const offset = cursor.at;
  const byte = cursor.u8('a type');
  switch (byte) {
    case FUNC:
      return readFunc(cursor, reading);
    case COMPONENT:
    case INSTANCE: {
      requireDepth(depth + 1, offset);
      const read = (inner: Cursor) => readDeclaration(inner, reading, depth + 1, byte === COMPONENT);
      const declarations = readList(cursor, reading, 2, read);
      return { kind: byte === COMPONENT ? 'component-type' : 'instance-type', declarations };
    }
    default:
      return readValueDefinition(cursor, reading, byte);
  }
}

function readFunc(cursor: Cursor, reading: Reading): TypeDefinition {
  const params = readList(cursor, reading, 2, readLabelled);
  const offset = cursor.at;
  const form = cursor.u8('a result');
  if (form === 0) return { kind: 'func', params, result: readUse(cursor) };
  const count = cursor.u32('a number of results');
  if (form !== 1 || count !== 0)
    throw malformed('a result has another form, expected one type or none', offset);
  return { kind: 'func', params, result: null };
}

function readDeclaration(cursor: Cursor, reading: Reading, depth: number, isComponent: boolean): Declaration {
  const offset = cursor.at;
  const byte = cursor.u8('a declaration');
  switch (byte) {
    case 0x00:
      throw refused('core type', offset);
    case 0x01:
      return { kind: 'type', type: readTypeDefinition(cursor, reading, depth), offset };
    case 0x02:
      return { kind: 'alias', alias: readAlias(cursor, reading), offset };
    case 0x03:
      if (isComponent) return { kind: 'import', ...readExtern(cursor, reading), offset };
      break;
    case 0x04:
      return { kind: 'export', ...readExtern(cursor, reading), offset };
    default:
  }
  throw malformed(`a declaration has kind ${byte}, expected one that can stand here`, offset);
}

function readValueDefinition(cursor: Cursor, reading: Reading, byte: number): TypeDefinition {
  const offset = cursor.at - 1;
  switch (byte) {
    case 0x72:
      return { kind: 'record', fields: readList(cursor, reading, 2, readLabelled) };
    case 0x71:
      return { kind: 'variant', cases: readList(cursor, reading, 3, readCase) };
    case 0x70:
      return { kind: 'list', of: readUse(cursor) };
    case 0x6f:
      return { kind: 'tuple', elements: readList(cursor, reading, 1, readUse) };
    case 0x6e:
    case 0x6d:
      return { kind: byte === 0x6e ? 'flags' : 'enum', names: readList(cursor, reading, 1, readText) };
    case 0x6b:
      return { kind: 'option', of: readUse(cursor) };
    case 0x6a:
      return { kind: 'result', ok: readOptionalUse(cursor), error: readOptionalUse(cursor) };
    case 0x69:
    case 0x68:
      return { kind: byte === 0x69 ? 'own' : 'borrow', type: cursor.u32('an index') };
    default:
      return { kind: 'plain', word: plainWord(byte, offset) };
  }
}

function plainWord(byte: number, offset: number): string {
  const word = PLAIN_TYPES[FIRST_PLAIN - byte];
  if (word !== undefined) return word;
  const name = REFUSED_TYPES[byte];
  // Boundary: a type that is not known has a length that is not known, so nothing is read after it.
  if (name !== undefined) throw refused(name, offset);
  throw malformed(`0x${(byte & 0xff).toString(16)} is not a type, expected one`, offset);
}

/** A type's index, or a plain type as a number below zero. */
export function readUse(cursor: Cursor): TypeUse {
  const offset = cursor.at;
  const value = cursor.s33('a type');
  if (value >= 0) return value;
  if (value < -64) throw malformed('a plain type has more than seven bits, expected fewer', offset);
  return plainWord(value & 0x7f, offset);
}

function readOptionalUse(cursor: Cursor): TypeUse | null {
  const offset = cursor.at;
  const mark = cursor.u8('a mark');
  if (mark > 1) throw malformed(`a mark is ${mark}, expected 0 or 1`, offset);
  return mark === 1 ? readUse(cursor) : null;
}

function readLabelled(cursor: Cursor, reading: Reading): LabelledUse {
  const label = readText(cursor, reading);
  return [label, readUse(cursor)];
}

function readCase(cursor: Cursor, reading: Reading): readonly [string, TypeUse | null] {
  const label = readText(cursor, reading);
  const type = readOptionalUse(cursor);
  const offset = cursor.at;
  if (cursor.u8("a case's end") !== 0)
    throw malformed('a case refines another, expected none that does', offset);
  return [label, type];
}
