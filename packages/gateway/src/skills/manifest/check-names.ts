import type { Path } from '../../config/problem.ts';
import { quote } from '../../core/hostile-text.ts';
import { type Checked, tableIn, tablesIn, textIn } from './checked.ts';
import { type Found, misfitAt } from './problem.ts';

/** What names must be to each other: the id that of the publisher, and no tool, channel or module named twice. */
export function checkNames(manifest: Checked, found: Found[]): void {
  const [id, publisher] = [textIn(manifest, 'skill_id'), textIn(manifest, 'publisher')];
  // Boundary: a publisher names skills below its own name only, so no skill passes for that of another.
  if (id !== null && publisher !== null && !id.startsWith(`${publisher}.`)) {
    const expected = `it to begin with ${quote(`${publisher}.`)}, the publisher`;
    found.push(misfitAt(['skill_id'], { is: `it is ${quote(id)}`, expected }));
  }
  const channels = tablesIn(tableIn(manifest, 'capabilities'), 'channels');
  demandOnce(tablesIn(tableIn(manifest, 'entrypoints'), 'tools'), 'id', ['entrypoints', 'tools'], found);
  demandOnce(channels, 'name', ['capabilities', 'channels'], found);
  demandOnce(tablesIn(tableIn(manifest, 'build'), 'modules'), 'module', ['build', 'modules'], found);
}

function demandOnce(tables: readonly Checked[], name: string, path: Path, found: Found[]): void {
  const seen = new Set<string>();
  for (const [i, table] of tables.entries()) {
    const text = textIn(table, name);
    if (text === null) continue;
    if (seen.has(text)) {
      const misfit = { is: `${quote(text)} is taken by another`, expected: `each ${name} once` };
      found.push(misfitAt([...path, i, name], misfit));
    }
    seen.add(text);
  }
}
