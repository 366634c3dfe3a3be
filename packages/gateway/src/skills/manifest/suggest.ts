import { formatPath, type Path } from '../../config/problem.ts';
import { inert } from '../../core/hostile-text.ts';
import { fold, nearest } from '../../core/suggest.ts';
import { fieldsOf, nameOf } from './fields.ts';
import { MANIFEST_KEYS } from './manifest-keys.table.ts';
import type { Found } from './problem.ts';
import { didYouMean } from './texts.table.ts';

/** A key that no table of skill.toml has, with the one that was probably meant. */
export function unknownKey(tableKey: string, path: Path): Found {
  const name = String(path.at(-1) ?? '');
  const what = `Cannot use the key ${JSON.stringify(inert(formatPath(path)))}: it is unknown, expected a key of docs/skill-package.md`;
  return { path, at: 'key', what, hint: () => didYouMean(nearestKey(tableKey, name)) };
}

/** A key of the same table that is spelled nearly so, or begins or ends so; or one of another table that is spelled so exactly. */
function nearestKey(tableKey: string, name: string): string | null {
  const sibling = nearest(name, fieldsOf(tableKey).keys());
  if (sibling !== null) return sibling;
  const longer = [...fieldsOf(tableKey).keys()].find(
    (each) => each.endsWith(`_${name}`) || each.startsWith(`${name}_`),
  );
  const elsewhere = MANIFEST_KEYS.find(({ key }) => fold(nameOf(key)) === fold(name));
  return longer ?? elsewhere?.key.replace(/\[\]$/, '') ?? null;
}
