import type { Path } from '../../config/problem.ts';
import { isTable } from './agree.ts';
import { checkLeaf } from './check-leaf.ts';
import type { Checked, CheckedValue } from './checked.ts';
import { fieldsOf } from './fields.ts';
import type { ManifestKey, TablesKey } from './manifest-keys.table.ts';
import { type Bench, type Found, misfitAt, say } from './problem.ts';
import { unknownKey } from './suggest.ts';

/** Checks the keys of one table, and of those within it, against the table of keys. */
export function checkTable(tableKey: string, raw: unknown, path: Path, bench: Bench): Checked {
  const checked = new Map<string, CheckedValue>();
  if (!isTable(raw)) {
    bench.found.push(
      misfitAt(path, { is: say(raw), expected: 'a table', hint: `write it as [${tableKey}]` }),
    );
    return checked;
  }
  const fields = fieldsOf(tableKey);
  for (const [name, content] of Object.entries(raw)) {
    const row = fields.get(name);
    // Boundary: what this version does not know it does not read over: it could be what takes something back.
    if (row === undefined) bench.found.push(unknownKey(tableKey, [...path, name]));
    else keep(checked, name, checkKey(row, content, [...path, name], bench));
  }
  for (const [name, row] of fields) {
    if (!Object.hasOwn(raw, name)) keep(checked, name, fillGap(row, name, path, bench));
  }
  return checked;
}

function keep(checked: Map<string, CheckedValue>, name: string, value: CheckedValue | null): void {
  if (value !== null) checked.set(name, value);
}

function checkKey(row: ManifestKey, raw: unknown, path: Path, bench: Bench): CheckedValue | null {
  if (row.type === 'table') return { table: checkTable(row.key, raw, path, bench) };
  return row.type === 'tables' ? checkTables(row, raw, path, bench) : checkLeaf(row, raw, path, bench);
}

function checkTables(
  { key, min, max }: TablesKey,
  raw: unknown,
  path: Path,
  bench: Bench,
): CheckedValue | null {
  const header = `[[${key.replace(/\[\]/g, '')}]]`;
  if (!Array.isArray(raw)) {
    const hint = isTable(raw) ? `write it with two brackets: ${header}` : null;
    bench.found.push(misfitAt(path, { is: say(raw), expected: `tables under ${header}`, hint }));
    return null;
  }
  if (raw.length < min)
    bench.found.push(misfitAt(path, { is: 'it is empty', expected: `at least ${min} ${header}` }));
  if (raw.length > max) {
    const is = `there are ${raw.length}`;
    bench.found.push(misfitAt([...path, max], { is, expected: `at most ${max} of ${header}` }));
  }
  const kept = raw.slice(0, max);
  return { tables: kept.map((each: unknown, i) => checkTable(key, each, [...path, i], bench)) };
}

/** What holds for a key that is not in the file. */
function fillGap(row: ManifestKey, name: string, path: Path, bench: Bench): CheckedValue | null {
  if (row.type === 'table')
    return row.isFilled ? { table: checkTable(row.key, {}, [...path, name], bench) } : null;
  if (row.type === 'tables') {
    if (row.min > 0) bench.found.push(missing(name, `[[${row.key.replace(/\[\]/g, '')}]]`, path));
    return { tables: [] };
  }
  if (row.isRequired === true) bench.found.push(missing(name, `${name} = ${row.example}`, path));
  const value = row.default;
  if (value === null) return null;
  return typeof value === 'object' ? { texts: value } : value;
}

function missing(name: string, example: string, path: Path): Found {
  const { what } = misfitAt(path, { is: `it has no ${name}`, expected: `the key ${name}` });
  return { path, at: 'value', about: [...path, name], what, hint: () => `for example ${example}` };
}
