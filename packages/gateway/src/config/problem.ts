import { quote } from '../core/hostile-text.ts';

export type Path = readonly (string | number)[];

/** What is wrong with palisade.toml, and where: thrown by the checks, caught by the loader, which knows the lines. */
export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem';
  readonly path: Path;
  readonly at: 'key' | 'value';

  constructor(path: Path, at: 'key' | 'value', what: string) {
    super(what);
    this.path = path;
    this.at = at;
  }
}

/** A value that cannot be used for its key. */
export function badValue(path: Path, is: string, expected: string): ConfigProblem {
  return new ConfigProblem(path, 'value', `Cannot use ${formatPath(path)}: ${is}, expected ${expected}`);
}

/** The spelling of a path in messages and in `palisade config show`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += `${text === '' ? '' : '.'}${/^[A-Za-z0-9_-]{1,64}$/.test(part) ? part : quote(part)}`;
  }
  return text;
}
