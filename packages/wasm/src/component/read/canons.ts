import type { Cursor } from '../../read/cursor.ts';
import { malformed } from '../../read/refusal.ts';
import { type Reading, readList, refused } from './reading.ts';
import { REFUSED_CANONS, REFUSED_OPTIONS } from './refused.table.ts';
import type { Canon, CanonOptions } from './syntax.ts';

const LIFT = 0x00;
const LOWER = 0x01;
const RESOURCE_DROP = 0x03;

export function readCanon(cursor: Cursor, reading: Reading): Canon {
  const offset = cursor.at;
  const byte = cursor.u8('a canonical function');
  if (byte === RESOURCE_DROP) return { kind: 'resource-drop', type: cursor.u32('an index') };
  if (byte !== LIFT && byte !== LOWER) {
    throw refused(REFUSED_CANONS[byte] ?? `canonical function 0x${byte.toString(16)}`, offset);
  }
  if (cursor.u8('a canonical function') !== 0) {
    throw malformed('a canonical function is of no known sort, expected 0', offset);
  }
  const func = cursor.u32('an index');
  const options = readOptions(cursor, reading);
  if (byte === LOWER) return { kind: 'lower', func, options };
  return { kind: 'lift', func, options, type: cursor.u32('an index') };
}

/** Strings are UTF-8, and post-return cleanup is ignored: a guest serves one call and is gone. */
function readOptions(cursor: Cursor, reading: Reading): CanonOptions {
  const found: { memory: number | null; realloc: number | null } = { memory: null, realloc: null };
  readList(cursor, reading, 1, () => {
    const offset = cursor.at;
    const byte = cursor.u8('an option');
    if (byte === 0x00) return;
    const name = REFUSED_OPTIONS[byte];
    if (name !== undefined) throw refused(name, offset);
    if (byte < 0x03 || byte > 0x05) throw malformed(`option ${byte} is not known, expected 0 to 5`, offset);
    const index = cursor.u32('an index');
    if (byte === 0x03) found.memory = index;
    if (byte === 0x04) found.realloc = index;
  });
  return found;
}
