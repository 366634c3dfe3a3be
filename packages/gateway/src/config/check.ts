import { quote } from '../core/hostile-text.ts';
import { checkValue, describe, type Value } from './check-value.ts';
import { CONFIG_KEYS, type ConfigKey } from './config.table.ts';
import { GRAMMARS } from './grammar.ts';
import { badValue, ConfigProblem, type Path } from './problem.ts';
import { unknownKey } from './suggest.ts';

/** What the file says, every value checked by its row; what it leaves out is not in here. */
export type Settings = {
  /** By dotted key. */
  readonly values: ReadonlyMap<string, Value>;
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly secrets: readonly Table[];
  readonly upstreams: readonly Table[];
  readonly budgets: readonly Table[];
};

/** One table of several under the same name, by the last part of the key. */
type Table = ReadonlyMap<string, Value>;
type Entry = readonly [name: string, raw: unknown];

const ROWS: ReadonlyMap<string, ConfigKey> = new Map(CONFIG_KEYS.map((row) => [row.key, row]));
const SECTIONS: ReadonlySet<string> = new Set(CONFIG_KEYS.map(({ key }) => key.replace(/(\[\])?\..*$/, '')));
const BUDGET_UNITS = ['calls', 'wall_ms', 'cpu_ms', 'fuel', 'output_bytes', 'egress_bytes'];
/** Each budget costs a statement in each call, and each secret is one more file to keep from commands. */
const MOST_TABLES = { budget: 64, secret: 64, upstream: 64 } as const;

/** Checks what the TOML parser gave; throws a ConfigProblem at the first thing that does not fit the table of keys. */
export function checkSettings(raw: unknown): Settings {
  const values = new Map<string, Value>();
  const groups = new Map<string, readonly string[]>();
  const secrets: Table[] = [];
  const upstreams: Table[] = [];
  const budgets: Table[] = [];
  for (const [section, content] of tableEntries(raw, [])) {
    if (!SECTIONS.has(section)) throw unknownKey([section]);
    if (section === 'budget') budgets.push(...checkTables(section, content, checkBudget));
    else if (section === 'secret') secrets.push(...checkTables(section, content, checkSecret));
    else if (section === 'upstream') upstreams.push(...checkTables(section, content, checkUpstream));
    else if (section === 'groups') for (const group of checkGroups(content)) groups.set(...group);
    else for (const [name, value] of checkSection(section, content)) values.set(`${section}.${name}`, value);
  }
  checkCeilings(values);
  checkOauth(values);
  return { values, groups, secrets, upstreams, budgets };
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

/** The tables under `[[section]]`, each with what it must have and a name of its own. */
function checkTables(
  section: keyof typeof MOST_TABLES,
  raw: unknown,
  demand: (table: Table, path: Path) => void,
): readonly Table[] {
  if (!Array.isArray(raw)) throw badValue([section], describe(raw), `tables under [[${section}]]`);
  const most = MOST_TABLES[section];
  if (raw.length > most) throw badValue([section, most], 'it is one more', `at most ${most}`);
  const names = new Set<Value>();
  return raw.map((content: unknown, i) => {
    const path = [section, i];
    const table = new Map<string, Value>();
    for (const [name, value] of tableEntries(content, path)) {
      table.set(name, checkKey(`${section}[].${name}`, value, [...path, name]));
    }
    demand(table, path);
    const name = table.get('name') ?? '';
    if (names.has(name)) throw badValue([...path, 'name'], `"${name}" is taken`, 'a name of its own');
    names.add(name);
    return table;
  });
}

function demandKeys(table: Table, path: Path, required: readonly string[]): void {
  const missing = required.find((key) => !table.has(key));
  if (missing !== undefined) throw badValue(path, `it has no ${missing}`, `the key ${missing}`);
}

function checkSecret(secret: Table, path: Path): void {
  demandKeys(secret, path, ['name', 'variable', 'hosts']);
}

function checkUpstream(upstream: Table, path: Path): void {
  demandKeys(upstream, path, ['name', 'command']);
  const env = (upstream.get('env') ?? []) as readonly string[];
  const odd = env.findIndex((each) => !/^[A-Za-z_][A-Za-z0-9_]*=/.test(each));
  if (odd >= 0) throw badValue([...path, 'env', odd], describe(env[odd]), 'NAME=VALUE');
}

/** Boundary: a token that is for nobody in particular is for everybody. */
function checkOauth(values: ReadonlyMap<string, Value>): void {
  if (!values.get('oauth.issuer') || values.get('oauth.audience')) return;
  throw badValue(['oauth', 'issuer'], 'there is no oauth.audience', 'the key audience beside it');
}

function checkBudget(budget: Table, path: Path): void {
  demandKeys(budget, path, ['name', 'per']);
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
