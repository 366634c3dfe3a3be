import type { Cursor } from './cursor.ts';
import { type Draft, readIndex, readLimitedCount, readName, use } from './draft.ts';
import { readKind } from './imports.ts';
import type { ExternKind } from './module.ts';
import { malformed } from './refusal.ts';

export function readExports(cursor: Cursor, draft: Draft): void {
  const count = readLimitedCount(cursor, draft, { key: 'exports', before: 0, leastBytes: 3 });
  const names = new Set<string>();
  for (let position = 0; position < count; position += 1) {
    const start = cursor.at;
    const name = readName(cursor, draft.limits, "an export's name");
    // Boundary: a name has one meaning for every reader.
    if (names.has(name)) throw malformed('an export has the name of another one, expected a new name', start);
    names.add(name);
    const kind = readKind(cursor);
    const index = readIndex(cursor, kind, countOf(draft, kind));
    if (kind === 'global' && draft.globals[index]?.mutable) use(draft, 'mutable-globals', start);
    draft.exports.push({ start, end: cursor.at, name, kind, index });
  }
}

function countOf(draft: Draft, kind: ExternKind): number {
  switch (kind) {
    case 'function':
      return draft.functions.length;
    case 'table':
      return draft.tables.length;
    case 'memory':
      return draft.memories.length;
    case 'global':
      return draft.globals.length;
  }
}

export function readStart(cursor: Cursor, draft: Draft): void {
  const offset = cursor.at;
  const index = readIndex(cursor, 'function', draft.functions.length);
  const type = draft.types[draft.functions[index] ?? -1];
  if (type === undefined || type.params.length > 0 || type.results.length > 0) {
    throw malformed('the start function has parameters or results, expected none', offset);
  }
  draft.start = index;
}
