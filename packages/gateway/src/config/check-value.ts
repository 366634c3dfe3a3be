import { quote } from '../core/hostile-text.ts';
import type { ConfigKey, DurationKey, IntegerKey, StringListKey } from './config.table.ts';
import { formatDuration, GRAMMARS, type GrammarName, parseDuration } from './grammar.ts';
import { badValue, type Path } from './problem.ts';

/** A value that fits its row: durations are milliseconds by now. */
export type Value = number | string | readonly string[];

/** Gives the value for its row, or throws a ConfigProblem. Integers come as bigint, so that no float passes for one. */
export function checkValue(row: ConfigKey, raw: unknown, path: Path): Value {
  switch (row.type) {
    case 'integer':
      return checkInteger(row, raw, path);
    case 'string':
      return checkString(row.grammar, raw, path);
    case 'string-list':
      return checkStringList(row, raw, path);
    case 'duration':
      return checkDuration(row, raw, path);
    case 'choice':
      if (typeof raw === 'string' && row.choices.includes(raw)) return raw;
      throw badValue(path, describe(raw), `one of ${row.choices.map(quote).join(', ')}`);
  }
}

function checkInteger(row: IntegerKey, raw: unknown, path: Path): number {
  const { min, max, multipleOf = 1 } = row;
  const kind = multipleOf === 1 ? 'an integer' : `a multiple of ${multipleOf}`;
  const isFit = typeof raw === 'bigint' && raw >= min && raw <= max && raw % BigInt(multipleOf) === 0n;
  if (!isFit) throw badValue(path, describe(raw), `${kind} from ${min} to ${max}`);
  return Number(raw);
}

function checkString(grammar: GrammarName, raw: unknown, path: Path): string {
  const { accepts, expected } = GRAMMARS[grammar];
  if (typeof raw === 'string' && accepts(raw)) return raw;
  throw badValue(path, describe(raw), expected);
}

function checkStringList(row: StringListKey, raw: unknown, path: Path): readonly string[] {
  if (!Array.isArray(raw)) throw badValue(path, describe(raw), 'a list of strings');
  if (raw.length === 0 && row.isNeverEmpty === true)
    throw badValue(path, 'it is empty', 'at least one element');
  const list = raw.map((element: unknown, i) => checkString(row.grammar, element, [...path, i]));
  const seen = new Set<string>();
  for (const [i, element] of list.entries()) {
    if (seen.has(element))
      throw badValue([...path, i], `${quote(element)} occurs twice`, 'each element once');
    seen.add(element);
  }
  return list;
}

function checkDuration(row: DurationKey, raw: unknown, path: Path): number {
  const ms = typeof raw === 'string' ? parseDuration(raw) : null;
  if (ms !== null && ms >= row.minMs && ms <= row.maxMs) return ms;
  const range = `from "${formatDuration(row.minMs)}" to "${formatDuration(row.maxMs)}"`;
  throw badValue(path, describe(raw), `a duration such as "90s", "1m", "1h" or "1d" ${range}`);
}

/** Says what stands in the file in the place of what was expected. */
export function describe(raw: unknown): string {
  if (typeof raw === 'string') return `it is ${quote(raw)}`;
  if (typeof raw === 'bigint') return `it is ${quote(String(raw)).slice(1, -1)}`;
  if (typeof raw === 'boolean') return `it is ${raw}`;
  if (typeof raw === 'number') return `it is the float ${raw}`;
  if (raw instanceof Date) return 'it is a date';
  return Array.isArray(raw) ? 'it is a list' : 'it is a table';
}
