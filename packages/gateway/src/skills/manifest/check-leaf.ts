import type { Path } from '../../config/problem.ts';
import { quote } from '../../core/hostile-text.ts';
import { nearest } from '../../core/suggest.ts';
import type { CheckedValue } from './checked.ts';
import type { ChoiceKey, IntegerKey, LeafKey, TextsKey } from './manifest-keys.table.ts';
import { type Bench, type Misfit, misfitAt, say } from './problem.ts';
import { readSchema } from './read-schema.ts';
import { didYouMean, misfitIn, TEXTS, type TextName } from './texts.table.ts';

/** Gives the value of a row, or notes what is wrong with it. Integers come as bigint, so that no float passes for one. */
export function checkLeaf(row: LeafKey, raw: unknown, path: Path, bench: Bench): CheckedValue | null {
  if (row.type === 'schema') return readSchema(row, raw, path, bench);
  if (row.type === 'texts') return checkTexts(row, raw, path, bench);
  const misfit = misfitOfScalar(row, raw);
  if (misfit !== null) {
    bench.found.push(misfitAt(path, misfit));
    return null;
  }
  return row.type === 'integer' ? Number(raw) : (raw as string | boolean);
}

function misfitOfScalar(row: Exclude<LeafKey, TextsKey | { type: 'schema' }>, raw: unknown): Misfit | null {
  switch (row.type) {
    case 'text':
      return misfitOfText(row.rule, raw);
    case 'choice':
      return misfitOfChoice(row, raw);
    case 'integer':
      return misfitOfInteger(row, raw);
    case 'boolean':
      if (typeof raw === 'boolean') return null;
      return { is: say(raw), expected: 'true or false', hint: unquote(raw, /^(?:true|false)$/) };
  }
}

function misfitOfText(rule: TextName, raw: unknown): Misfit | null {
  if (typeof raw === 'string') return misfitIn(rule, raw);
  return { is: say(raw), expected: TEXTS[rule].expected, hint: 'texts stand in double quotes' };
}

function misfitOfChoice({ choices }: ChoiceKey, raw: unknown): Misfit | null {
  if (typeof raw === 'string' && choices.includes(raw)) return null;
  const hint = typeof raw === 'string' ? didYouMean(nearest(raw, choices)) : 'texts stand in double quotes';
  return { is: say(raw), expected: `one of ${choices.map(quote).join(', ')}`, hint };
}

function misfitOfInteger({ min, max }: IntegerKey, raw: unknown): Misfit | null {
  if (typeof raw === 'bigint' && raw >= min && raw <= max) return null;
  const expected = min === max ? `the integer ${min}` : `an integer from ${min} to ${max}`;
  const hint =
    typeof raw === 'number' ? 'an integer has neither a point nor an exponent' : unquote(raw, /^\d+$/);
  return { is: say(raw), expected, hint };
}

function unquote(raw: unknown, meant: RegExp): string | null {
  return typeof raw === 'string' && meant.test(raw) ? `write ${raw.slice(0, 20)} without quotes` : null;
}

function checkTexts(row: TextsKey, raw: unknown, path: Path, bench: Bench): CheckedValue | null {
  if (!Array.isArray(raw)) {
    const hint = typeof raw === 'string' ? `write it as [${quote(raw)}]` : null;
    bench.found.push(misfitAt(path, { is: say(raw), expected: 'a list of texts', hint }));
    return null;
  }
  if (raw.length < row.min || raw.length > row.max) {
    const is = raw.length === 0 ? 'it is empty' : `it has ${raw.length} elements`;
    bench.found.push(misfitAt(path, { is, expected: `${row.min} to ${row.max} elements` }));
    return null;
  }
  const seen = new Set<string>();
  const texts = raw.map((element: unknown, i) => {
    const misfit = misfitOfText(row.rule, element) ?? misfitOfRepeated(element as string, seen);
    if (misfit === null) return element as string;
    bench.found.push(misfitAt([...path, i], misfit));
    return null;
  });
  return { texts };
}

function misfitOfRepeated(text: string, seen: Set<string>): Misfit | null {
  if (seen.has(text)) return { is: `${quote(text)} occurs twice`, expected: 'each element once' };
  seen.add(text);
  return null;
}
