import { editSteps } from '../core/suggest.ts';
import { CONFIG_KEYS } from './config.table.ts';
import { ConfigProblem, formatPath, type Path } from './problem.ts';

const MAX_COMPARED_CHARS = 64;

/** A key that palisade does not know, with the known one that was probably meant. */
export function unknownKey(path: Path): ConfigProblem {
  const spelled = formatPath(path);
  const meant = nearest(
    path
      .map((part) => (typeof part === 'number' ? '[]' : `.${part}`))
      .join('')
      .slice(1),
  );
  const hint = meant === null ? '' : `; did you mean "${meant}"?`;
  const what = `Cannot use the key "${spelled}": it is unknown, expected a key of palisade.toml${hint}`;
  return new ConfigProblem(path, 'key', what);
}

function nearest(unknown: string): string | null {
  if (unknown.length > MAX_COMPARED_CHARS) return null;
  const keys = CONFIG_KEYS.map(({ key }) => key);
  const sections = keys.map((key) => key.replace(/(\[\])?\..*$/, ''));
  let best: { key: string; steps: number } = {
    key: '',
    steps: Math.max(1, Math.floor(unknown.length / 4)) + 1,
  };
  for (const key of [...keys, ...new Set(sections)]) {
    const whole = editSteps(unknown, key);
    // A key that is right but stands outside its section.
    const inner = unknown.includes('.') ? whole : editSteps(unknown, key.slice(key.lastIndexOf('.') + 1));
    const steps = Math.min(whole, inner);
    if (steps < best.steps) best = { key, steps };
  }
  return best.key === '' ? null : best.key;
}
