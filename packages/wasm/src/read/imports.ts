import type { Cursor } from './cursor.ts';
import { type Draft, readIndex, readLimitedCount, readName, use } from './draft.ts';
import { readMemory, readTable } from './extents.ts';
import { setFunctions } from './functions.ts';
import { readGlobalType } from './globals.ts';
import type { ExternKind } from './module.ts';
import { malformed, requireWithin, unsupported } from './refusal.ts';

const KINDS: readonly ExternKind[] = ['function', 'table', 'memory', 'global'];
const TAG = 4;

export function readImports(cursor: Cursor, draft: Draft): void {
  const count = readLimitedCount(cursor, draft, { key: 'imports', before: 0, leastBytes: 4 });
  const functions: number[] = [];
  for (let index = 0; index < count; index += 1) readImport(cursor, draft, functions);
  draft.importedFunctions = functions.length;
  setFunctions(draft, Uint32Array.from(functions));
}

function readImport(cursor: Cursor, draft: Draft, functions: number[]): void {
  const start = cursor.at;
  const module = readName(cursor, draft.limits, "an import's module");
  const name = readName(cursor, draft.limits, "an import's name");
  const descriptorStart = cursor.at;
  const kind = readKind(cursor);
  const index = readDescriptor(cursor, draft, kind, functions);
  draft.imports.push({ start, end: cursor.at, module, name, kind, index, descriptorStart });
}

/** What an import or an export is of. */
export function readKind(cursor: Cursor): ExternKind {
  const offset = cursor.at;
  const byte = cursor.u8('a kind');
  if (byte === TAG) unsupported('exceptions', offset);
  const kind = KINDS[byte];
  if (kind === undefined) throw malformed(`kind ${byte} is not known, expected 0 to 3`, offset);
  return kind;
}

/** Adds an import to its index space and returns its index there. */
function readDescriptor(cursor: Cursor, draft: Draft, kind: ExternKind, functions: number[]): number {
  const offset = cursor.at;
  switch (kind) {
    case 'function':
      requireWithin('functions', functions.length + 1, draft.limits, offset);
      return functions.push(readIndex(cursor, 'type', draft.types.length)) - 1;
    case 'table':
      readTable(cursor, draft, true);
      return draft.tables.length - 1;
    case 'memory':
      readMemory(cursor, draft, true);
      return draft.memories.length - 1;
    case 'global': {
      requireWithin('globals', draft.globals.length + 1, draft.limits, offset);
      const global = readGlobalType(cursor, draft, true);
      if (global.mutable) use(draft, 'mutable-globals', offset);
      return draft.globals.push(global) - 1;
    }
  }
}
