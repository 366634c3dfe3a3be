/**
 * Directories whose files run by themselves later: a workspace there would be made of nothing else, and its names,
 * which are judged from the workspace down, would not show it.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { ancestorsOf } from '../core/paths.ts';
import { PROTECTED } from '../core/protected.table.ts';
import { orElse } from '../core/result.ts';

/** The directories of the table: those that matter as a whole, and those in which some names do. */
const WHOLE = new Set(['.git']);
const WITH_NAMES = new Set<string>();

for (const { patterns } of Object.values(PROTECTED)) {
  for (const pattern of patterns.toLowerCase().split(' ')) {
    const names = pattern.split('/');
    const end = names.findIndex((name, index) => name.includes('*') || index === names.length - 1);
    if (names[end] === '**') WHOLE.add(names.slice(0, end).join('/'));
    // A directory without a dot, as Library, is more often something else.
    if (pattern.startsWith('.'))
      for (let length = 1; length <= end; length += 1) WITH_NAMES.add(names.slice(0, length).join('/'));
  }
}

/** Why this path without links is no workspace, as the end of a sentence about it; null where it may be one. */
export function protectedPlace(path: string): string | null {
  // Boundary: the names are the same in every case, as on file systems that ignore it.
  const folded = path.normalize('NFKC').toUpperCase().toLowerCase();
  const isProtected =
    [...WHOLE].some((place) => `${folded}/`.includes(`/${place}/`)) ||
    [...WITH_NAMES].some((place) => folded.endsWith(`/${place}`));
  if (isProtected) return 'is for files that run by themselves later';
  const repository = ancestorsOf(path).find(isGitDirectory);
  return repository === undefined ? null : `is in "${repository}", which git takes for a repository`;
}

function isGitDirectory(directory: string): boolean {
  const has = (name: string) =>
    orElse(() => lstatSync(join(directory, name), { throwIfNoEntry: false }), undefined) !== undefined;
  return has('HEAD') && (has('commondir') || (has('objects') && has('refs')));
}
