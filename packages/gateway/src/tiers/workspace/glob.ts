/** Patterns over paths: `*` is any part of one name, `**` any number of names, none included. */
import { foldPath } from './names.ts';

/** A name of a pattern, cut at its stars. */
type Part = readonly string[];

export type Glob = {
  /** The parts between one `**` and the next. */
  readonly runs: readonly (readonly Part[])[];
  /** A name that every path of the pattern has, where one can be told; null where not. */
  readonly key: string | null;
};

/** Makes a pattern that compares folded names. */
export function foldedGlob(pattern: string): Glob {
  return globOf(foldPath(pattern));
}

/** Makes a pattern of the names as they are. */
export function globOf(names: readonly string[]): Glob {
  const runs: Part[][] = [[]];
  for (const name of names) {
    if (name === '**') runs.push([]);
    else runs.at(-1)?.push(name.split('*'));
  }
  const first = names.find((name) => name !== '**');
  return { runs, key: first === undefined || first.includes('*') ? null : first };
}

/** Whether the path, as its names, fits the whole pattern. No pattern takes more than names times parts. */
export function fits({ runs }: Glob, names: readonly string[]): boolean {
  const first = runs[0] ?? [];
  const last = runs.at(-1) ?? [];
  if (runs.length === 1) return names.length === first.length && runFits(first, names, 0);
  const end = names.length - last.length;
  if (first.length > end || !runFits(first, names, 0) || !runFits(last, names, end)) return false;
  let at = first.length;
  for (let index = 1; index < runs.length - 1; index += 1) {
    const run = runs[index] ?? [];
    while (at + run.length <= end && !runFits(run, names, at)) at += 1;
    at += run.length;
    if (at > end) return false;
  }
  return true;
}

function runFits(run: readonly Part[], names: readonly string[], at: number): boolean {
  for (let index = 0; index < run.length; index += 1) {
    if (!partFits(run[index] ?? [], names[at + index] ?? '')) return false;
  }
  return true;
}

function partFits(part: Part, name: string): boolean {
  const first = part[0] ?? '';
  if (part.length === 1) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (let index = 1; index < part.length - 1; index += 1) {
    const piece = part[index] ?? '';
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  const last = part.at(-1) ?? '';
  return name.length - last.length >= at && name.endsWith(last);
}

/** Finds the values whose pattern fits, in their order, without trying every pattern on every path. */
export function indexGlobs<T>(
  values: readonly { readonly glob: Glob; readonly value: T }[],
): (names: readonly string[]) => T[] {
  const rows = values.map((row, order) => ({ ...row, order }));
  const byKey = new Map<string | null, typeof rows>();
  for (const row of rows) {
    const list = byKey.get(row.glob.key);
    if (list === undefined) byKey.set(row.glob.key, [row]);
    else list.push(row);
  }
  return (names) => {
    const found: typeof rows = [];
    for (const key of [null, ...names]) {
      for (const row of byKey.get(key) ?? []) if (fits(row.glob, names)) found.push(row);
    }
    // A name that the path has twice has found its patterns twice.
    return found.length === 0
      ? []
      : [...new Set(found.sort((a, b) => a.order - b.order))].map(({ value }) => value);
  };
}
