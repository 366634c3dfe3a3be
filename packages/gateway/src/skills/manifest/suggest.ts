import { formatPath, type Path } from '../../config/problem.ts';
import { editSteps } from '../../config/suggest.ts';
import { inert } from '../../core/hostile-text.ts';
import { fieldsOf, nameOf } from './fields.ts';
import { MANIFEST_KEYS } from './manifest-keys.table.ts';
import type { Found } from './problem.ts';
import { didYouMean } from './texts.table.ts';

const MAX_COMPARED_CHARS = 64;

/** A key that no table of skill.toml has, with the one that was probably meant. */
export function unknownKey(tableKey: string, path: Path): Found {
  const name = String(path.at(-1) ?? '');
  const what = `Cannot use the key ${JSON.stringify(inert(formatPath(path)))}: it is unknown, expected a key of docs/skill-package.md`;
  return { path, at: 'key', what, hint: () => didYouMean(nearestKey(tableKey, name)) };
}

/** The nearest of a few texts; null when none is near. */
export function nearest(text: string, among: Iterable<string>): string | null {
  if (text.length > MAX_COMPARED_CHARS) return null;
  let best: { readonly name: string | null; readonly steps: number } = {
    name: null,
    steps: Math.ceil(text.length / 3) + 1,
  };
  for (const name of among) {
    const steps = editSteps(fold(text), fold(name));
    if (steps < best.steps) best = { name, steps };
  }
  return best.name;
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

/** What is the same in all styles of writing a name. */
function fold(name: string): string {
  return name.toLowerCase().replace(/[-_\s]/g, '');
}
