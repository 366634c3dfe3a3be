import { quote } from '../core/hostile-text.ts';
import { type Limits, narrow } from '../core/limits.ts';
import { isWeaker, type ProcessTierName } from '../core/process.ts';
import { accept, type Result, reject } from '../core/result.ts';
import * as shape from '../core/shape.ts';
import { describeValue, misfitAt, type ShapeProblem } from '../core/shape-problem.ts';
import { CONFIG_KEYS, type ConfigKey, type DurationRule, REQUIRED_KEYS } from './config.table.ts';
import {
  type BudgetRule,
  type Config,
  type ConfigFile,
  DEFAULT_BUDGETS,
  type UpstreamRule,
} from './config.ts';
import { formatDuration, GRAMMARS, type GrammarName, parseDuration } from './grammar.ts';

/*
 * The table of keys as shapes, and checked values as a Config. The names of a Config are those of palisade.toml in camel
 * case; a duration is in milliseconds and says so in its name.
 */

/** A value that fits its row: durations are milliseconds by now. */
export type Value = number | string | readonly string[];
type Values = Readonly<Record<string, Value | null>>;

/** Each budget costs a statement in each call, and each secret is one more file to keep from commands. */
const MAX_TABLES = 64;
const BUDGET_UNITS = ['calls', 'wall_ms', 'cpu_ms', 'fuel', 'output_bytes', 'egress_bytes'];
const REQUIRED: ReadonlySet<string> = new Set(REQUIRED_KEYS);
const OTHERS = { expected: 'a key of palisade.toml', keys: CONFIG_KEYS.map(({ key }) => key) };

const TABLES = {
  secret: tablesOf('secret', () => undefined),
  upstream: tablesOf('upstream', demandEnv),
  registry: tablesOf('registry', () => undefined),
  budget: tablesOf('budget', demandBudget),
};
const FILE = shape.table(
  {
    ...Object.fromEntries(plainSections().map((section) => [section, sectionField(section)])),
    groups: { shape: groups, example: null, fill: () => new Map() },
    ...TABLES,
  },
  { others: OTHERS },
);

/** The configuration of a parsed file, with defaults filled in, or everything that is wrong with it. */
export function checkConfig(raw: unknown, file: ConfigFile | null): Result<Config, readonly ShapeProblem[]> {
  const result = shape.check(raw, FILE);
  if (!result.ok) return result;
  const values = result.value as unknown as Readonly<Record<string, Values>>;
  const problems = [
    ...ceilingProblems(raw as shape.RawTable, values),
    ...formerProblems(raw as shape.RawTable, values),
    ...tierProblems(values),
    ...oauthProblems(values),
  ];
  return problems.length > 0 ? reject(problems) : accept(toConfig(values, file, raw as shape.RawTable));
}

function rowsOf(section: string): readonly ConfigKey[] {
  return CONFIG_KEYS.filter(({ key }) => key.startsWith(`${section}.`));
}

function nameIn(section: string, { key }: ConfigKey): string {
  return key.slice(section.length + 1);
}

function plainSections(): readonly string[] {
  const sections = CONFIG_KEYS.map(({ key }) => key.slice(0, key.indexOf('.')));
  return [...new Set(sections)].filter((section) => section !== 'groups' && !section.endsWith('[]'));
}

function fieldsOf(section: string): shape.TableFields {
  return Object.fromEntries(rowsOf(section).map((row) => [nameIn(section, row), fieldOf(row)]));
}

function fieldOf(row: ConfigKey): shape.TableField<Value, null> {
  if (REQUIRED.has(row.key)) return shape.required(shapeOf(row));
  const ms = row.type === 'duration' && row.default !== null ? parseDuration(row.default) : null;
  return { shape: shapeOf(row), example: null, fill: () => ms ?? row.default };
}

function sectionField(section: string): shape.TableField<unknown> {
  const table = shape.table(fieldsOf(section), { header: `[${section}]`, others: OTHERS });
  return { shape: table, example: null, fill: (site) => table({}, site) };
}

type Demand = (table: Values, site: shape.ValueSite) => void;

/** The tables under `[[name]]`, each with a name of its own. */
function tablesOf(name: string, demand: Demand): shape.TableField<readonly unknown[]> {
  const header = `[[${name}]]`;
  const also = (table: unknown, site: shape.ValueSite) => demand(table as Values, site);
  const each = shape.table(fieldsOf(`${name}[]`), { header, others: OTHERS, also });
  const list = shape.tables(each, { max: MAX_TABLES, header });
  return {
    shape: (raw, site) => {
      const checked = list(raw, site);
      const isComplete = Array.isArray(raw) && checked?.length === raw.length;
      if (isComplete) shape.noteRepeated(checked as readonly shape.RawTable[], 'name', site);
      return checked;
    },
    example: null,
    fill: () => [],
  };
}

function shapeOf(row: ConfigKey): shape.Shape<Value> {
  switch (row.type) {
    case 'integer':
      return shape.integer(row);
    case 'string':
      return textOf(row.grammar);
    case 'string-list':
      return shape.texts(textOf(row.grammar), { min: row.isNeverEmpty === true ? 1 : 0 });
    case 'duration':
      return duration(row);
    case 'choice':
      return shape.choice(row.choices);
  }
}

function textOf(grammar: GrammarName): shape.Shape<string> {
  const { accepts, expected } = GRAMMARS[grammar];
  return shape.textLike(expected, accepts);
}

function duration({ minMs, maxMs }: DurationRule): shape.Shape<number> {
  const range = `from "${formatDuration(minMs)}" to "${formatDuration(maxMs)}"`;
  const expected = `a duration such as "90s", "1m", "1h" or "1d" ${range}`;
  return (raw, site) => {
    const ms = typeof raw === 'string' ? parseDuration(raw) : null;
    if (ms !== null && ms >= minMs && ms <= maxMs) return ms;
    return shape.note(site, { is: describeValue(raw), expected });
  };
}

function groups(raw: unknown, site: shape.ValueSite): ReadonlyMap<string, readonly string[]> | undefined {
  if (!shape.isTable(raw)) {
    return shape.note(site, { is: describeValue(raw), expected: 'a table', hint: 'write it as [groups]' });
  }
  const members = shape.texts(textOf('principal'));
  const found = new Map<string, readonly string[]>();
  for (const [name, list] of Object.entries(raw)) {
    const path = [...site.path, name];
    const { accepts, expected } = GRAMMARS.name;
    if (!accepts(name)) {
      const problem = misfitAt(path, { is: 'it is not a valid name', expected });
      site.found.push({ ...problem, subject: `the group ${quote(name)}`, at: 'key' });
    }
    found.set(name, members(list, { path, found: site.found }) ?? []);
  }
  return found;
}

function demandEnv({ env }: Values, { path, found }: shape.ValueSite): void {
  for (const [i, each] of ((env ?? []) as readonly string[]).entries()) {
    if (/^[A-Za-z_][A-Za-z0-9_]*=/.test(each)) continue;
    shape.note({ path: [...path, 'env', i], found }, { is: describeValue(each), expected: 'NAME=VALUE' });
  }
}

function demandBudget(budget: Values, site: shape.ValueSite): void {
  if (budget.per !== 'run' && budget.window === null) {
    const expected = 'the key window such as "1h", or per = "run"';
    shape.note(site, { is: 'it has no window', expected });
  }
  if (BUDGET_UNITS.every((unit) => budget[unit] === null)) {
    shape.note(site, { is: 'it limits nothing', expected: `at least one of ${BUDGET_UNITS.join(', ')}` });
  }
}

/** A limit that the file sets is at most its ceiling; a default is lowered to it. */
function ceilingProblems(raw: shape.RawTable, values: Readonly<Record<string, Values>>) {
  const { ceilings = {} } = values;
  return (['limits', 'wasm'] as const).flatMap((section) =>
    Object.keys(raw[section] ?? {}).flatMap((term) => {
      const [limit, ceiling] = [Number(values[section]?.[term]), Number(ceilings[term])];
      if (!(term in ceilings) || limit <= ceiling) return [];
      const expected = `at most its ceiling of ${ceiling}, or a higher ceilings.${term}`;
      return [misfitAt([section, term], { is: `it is ${limit}`, expected })];
    }),
  );
}

/** Limits that only modules have. Their former names in [limits] are read where the new ones are not set. */
const FORMER = ['fuel', 'memory_bytes'] as const;

/** Boundary: of two numbers for one limit, none is chosen silently. */
function formerProblems(raw: shape.RawTable, { limits = {}, wasm = {} }: Readonly<Record<string, Values>>) {
  const isTwice = (term: string) => isSet(raw, 'limits', term) && isSet(raw, 'wasm', term);
  return FORMER.filter((term) => isTwice(term) && limits[term] !== wasm[term]).map((term) =>
    misfitAt(['limits', term], {
      is: `it is ${limits[term]} and wasm.${term} is ${wasm[term]}`,
      expected: `wasm.${term} alone`,
    }),
  );
}

function isSet(raw: shape.RawTable, section: string, term: string): boolean {
  return Object.hasOwn((raw[section] ?? {}) as object, term);
}

/** Boundary: no other setting is below the floor. A default that the file does not set is at it or above. */
function tierProblems(values: Readonly<Record<string, unknown>>): readonly ShapeProblem[] {
  const { tier_floor, tier_default } = values.process as Values;
  const floor = tier_floor as ProcessTierName;
  const expected = `"${floor}" or stronger, or a lower process.tier_floor`;
  const upstreams = (values.upstream as readonly Values[]).map(({ tier }, i) => ({
    path: ['upstream', i, 'tier'],
    tier,
  }));
  return [{ path: ['process', 'tier_default'], tier: tier_default }, ...upstreams]
    .filter(({ tier }) => isWeaker(tier as ProcessTierName, floor))
    .map(({ path, tier }) => misfitAt(path, { is: `it is "${tier}"`, expected }));
}

/** Boundary: a token without an audience would be valid at every service. */
function oauthProblems({ oauth }: Readonly<Record<string, Values>>): readonly ShapeProblem[] {
  if (!oauth?.issuer || oauth.audience) return [];
  const misfit = { is: 'oauth.audience is not set', expected: 'the key audience beside it' };
  return [misfitAt(['oauth', 'issuer'], misfit)];
}

function toConfig(
  values: Readonly<Record<string, unknown>>,
  file: ConfigFile | null,
  raw: shape.RawTable,
): Config {
  const sections = plainSections().map((section) => [
    section,
    camelTable(section, values[section] as Values),
  ]);
  const config = Object.fromEntries(sections) as Config;
  const list = (name: keyof typeof TABLES) =>
    (values[name] as readonly Values[]).map((each) => camelTable(`${name}[]`, each));
  const budgets = list('budget') as readonly BudgetRule[];
  // A default never passes a ceiling that the operator lowered.
  const limits = narrow(config.limits, config.ceilings);
  const wasm = wasmOf(config.wasm, limits, raw);
  return {
    ...config,
    limits: { ...limits, fuel: wasm.fuel, memoryBytes: wasm.memoryBytes },
    wasm,
    groups: values.groups as Config['groups'],
    secrets: list('secret') as Config['secrets'],
    upstreams: (list('upstream') as readonly UpstreamRule[]).map((upstream) => ({
      ...upstream,
      prefix: upstream.prefix ?? `${upstream.name}.`,
    })),
    registries: list('registry') as Config['registries'],
    budgets: budgets.length === 0 ? DEFAULT_BUDGETS : budgets,
    file,
  };
}

/** What the file does not set is that of all calls. */
function wasmOf(wasm: Config['wasm'], limits: Limits, raw: shape.RawTable): Config['wasm'] {
  const from = (term: string) => (isSet(raw, 'wasm', term) ? wasm : limits);
  return {
    ...wasm,
    wallMs: from('wall_ms').wallMs,
    fuel: from('fuel').fuel,
    memoryBytes: from('memory_bytes').memoryBytes,
  };
}

function camelTable(section: string, values: Values): unknown {
  return Object.fromEntries(
    rowsOf(section).map((row) => {
      const value = values[nameIn(section, row)] ?? null;
      // An empty default means that the setting has no default.
      return [propertyOf(row), value === '' && row.default === '' ? null : value];
    }),
  );
}

export function propertyOf({ key, type }: Pick<ConfigKey, 'key' | 'type'>): string {
  const name = key.slice(key.indexOf('.') + 1);
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return type === 'duration' ? `${camel}Ms` : camel;
}
