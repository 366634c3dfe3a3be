import { checkValue, describe, type Value } from './check-value.ts';
import { CONFIG_KEYS, type ConfigKey } from './config.table.ts';
import { GRAMMARS } from './grammar.ts';
import { badValue, ConfigProblem, type Path, quote } from './problem.ts';
import { unknownKey } from './suggest.ts';

/** What the file says, every value checked by its row; what it leaves out is not in here. */
export type Settings = {
  /** By dotted key. */
  readonly values: ReadonlyMap<string, Value>;
  readonly groups: ReadonlyMap<string, readonly string[]>;
  /** By the last part of the key. */
  readonly budgets: readonly ReadonlyMap<string, Value>[];
};

type Entry = readonly [name: string, raw: unknown];

const ROWS: ReadonlyMap<string, ConfigKey> = new Map(CONFIG_KEYS.map((row) => [row.key, row]));
const SECTIONS: ReadonlySet<string> = new Set(CONFIG_KEYS.map(({ key }) => key.replace(/(\[\])?\..*$/, '')));
const BUDGET_UNITS = ['calls', 'wall_ms', 'cpu_ms', 'fuel', 'output_bytes', 'egress_bytes'];
/** Each budget costs a statement in each call. */
const MAX_BUDGETS = 64;

/** Checks what the TOML parser gave; throws a ConfigProblem at the first thing that does not fit the table of keys. */
export function checkSettings(raw: unknown): Settings {
  const values = new Map<string, Value>();
  const groups = new Map<string, readonly string[]>();
  const budgets: ReadonlyMap<string, Value>[] = [];
  for (const [section, content] of tableEntries(raw, [])) {
    if (!SECTIONS.has(section)) throw unknownKey([section]);
    if (section === 'budget') budgets.push(...checkBudgets(content));
    else if (section === 'groups') for (const group of checkGroups(content)) groups.set(...group);
    else for (const [name, value] of checkSection(section, content)) values.set(`${section}.${name}`, value);
  }
  checkCeilings(values);
  return { values, groups, budgets };
}

function checkSection(section: string, raw: unknown): ReadonlyMap<string, Value> {
  const values = new Map<string, Value>();
  for (const [name, value] of tableEntries(raw, [section])) {
    values.set(name, checkKey(`${section}.${name}`, value, [section, name]));
  }
  return values;
}

function checkGroups(raw: unknown): [string, readonly string[]][] {
  return tableEntries(raw, ['groups']).map(([name, list]) => {
    const path = ['groups', name];
    const { accepts, expected } = GRAMMARS.name;
    if (!accepts(name)) {
      throw new ConfigProblem(
        path,
        'key',
        `Cannot use the group ${quote(name)}: it is no name, expected ${expected}`,
      );
    }
    return [name, checkKey('groups.NAME', list, path) as readonly string[]];
  });
}

function checkBudgets(raw: unknown): ReadonlyMap<string, Value>[] {
  if (!Array.isArray(raw)) throw badValue(['budget'], describe(raw), 'tables under [[budget]]');
  if (raw.length > MAX_BUDGETS)
    throw badValue(['budget', MAX_BUDGETS], 'it is one more', `at most ${MAX_BUDGETS}`);
  const names = new Set<Value>();
  return raw.map((content: unknown, i) => {
    const path = ['budget', i];
    const budget = new Map<string, Value>();
    for (const [name, value] of tableEntries(content, path)) {
      budget.set(name, checkKey(`budget[].${name}`, value, [...path, name]));
    }
    checkBudget(budget, path);
    const name = budget.get('name') ?? '';
    if (names.has(name)) throw badValue([...path, 'name'], `"${name}" is taken`, 'a name of its own');
    names.add(name);
    return budget;
  });
}

function checkBudget(budget: ReadonlyMap<string, Value>, path: Path): void {
  for (const required of ['name', 'per']) {
    if (!budget.has(required)) throw badValue(path, `it has no ${required}`, `the key ${required}`);
  }
  if (budget.get('per') !== 'run' && !budget.has('window')) {
    throw badValue(path, 'it has no window', 'the key window such as "1h", or per = "run"');
  }
  if (!BUDGET_UNITS.some((unit) => budget.has(unit))) {
    throw badValue(path, 'it limits nothing', `at least one of ${BUDGET_UNITS.join(', ')}`);
  }
}

function checkCeilings(values: ReadonlyMap<string, Value>): void {
  for (const [key, limit] of values) {
    const [section, term = ''] = key.split('.');
    if (section !== 'limits') continue;
    const ceiling = values.get(`ceilings.${term}`) ?? ROWS.get(`ceilings.${term}`)?.default ?? 0;
    if (limit > ceiling) {
      const expected = `at most its ceiling of ${ceiling}, or a higher ceilings.${term}`;
      throw badValue(['limits', term], `it is ${limit}`, expected);
    }
  }
}

function checkKey(key: string, raw: unknown, path: Path): Value {
  const row = ROWS.get(key);
  if (row === undefined) throw unknownKey(path);
  return checkValue(row, raw, path);
}

function tableEntries(raw: unknown, path: Path): Entry[] {
  const isTable = typeof raw === 'object' && raw !== null && !Array.isArray(raw) && !(raw instanceof Date);
  if (!isTable) throw badValue(path, describe(raw), 'a table');
  return Object.entries(raw);
}
