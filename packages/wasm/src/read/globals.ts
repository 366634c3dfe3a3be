import { readConstant } from './constant.ts';
import type { Cursor } from './cursor.ts';
import { type Draft, readLimitedCount } from './draft.ts';
import type { Global } from './module.ts';
import { malformed, unsupported } from './refusal.ts';
import { readValueType } from './value-type.ts';

const MUTABLE = 1;
const SHARED = 2;

export function readGlobals(cursor: Cursor, draft: Draft): void {
  const before = draft.globals.length;
  const count = readLimitedCount(cursor, draft, { key: 'globals', before, leastBytes: 4 });
  for (let index = 0; index < count; index += 1) {
    const global = readGlobalType(cursor, draft, false);
    const start = cursor.at;
    readConstant(cursor, draft, global.type);
    draft.globals.push({ ...global, start, end: cursor.at - 1 });
  }
}

export function readGlobalType(cursor: Cursor, draft: Draft, imported: boolean): Global {
  const type = readValueType(cursor, draft);
  const offset = cursor.at;
  const flags = cursor.u8("a global's mutability");
  if (flags === SHARED || flags === (SHARED | MUTABLE)) unsupported('shared-everything', offset);
  if (flags > MUTABLE) throw malformed(`a global's mutability is ${flags}, expected 0 or 1`, offset);
  return { type, mutable: flags === MUTABLE, imported, start: offset, end: offset };
}
