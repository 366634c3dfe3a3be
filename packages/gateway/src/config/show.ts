import type { Value } from './check-value.ts';
import { CONFIG_KEYS, type ConfigKey } from './config.table.ts';
import type { BudgetRule, Config, SecretRule } from './config.ts';
import { formatDuration } from './grammar.ts';
import { findPlaces } from './places.ts';
import { formatPath, type Path } from './problem.ts';
import type { StateDir } from './state-dir.ts';

/** One line of `palisade config show`. */
export type ConfigRow = {
  readonly key: string;
  readonly value: Value;
  /** `default`, `palisade.toml:12`, `environment PALISADE_STATE`, `flag --state`. */
  readonly origin: string;
  readonly sentence: string;
};

type Item = { readonly path: Path; readonly value: Value; readonly row: ConfigKey };

const STATE_SENTENCE = 'The directory of the database, the keys and the policies; no key of palisade.toml.';

/** Every value that holds, where it comes from, and what it means. */
export async function showConfig(config: Config, stateDir: StateDir): Promise<readonly ConfigRow[]> {
  const originOf = await findOrigins(config);
  const rows = CONFIG_KEYS.flatMap((row) => itemsOf(config, row)).map(({ path, value, row }) => {
    const [section, term = ''] = path;
    // A limit that is neither in the file nor at its default was pressed down by its ceiling.
    const isLowered = section === 'limits' && originOf(path) === 'default' && value !== row.default;
    const origin = originOf(isLowered ? ['ceilings', term] : path);
    return { key: formatPath(path), value, origin, sentence: row.sentence };
  });
  return [{ key: 'state', value: stateDir.path, origin: stateDir.origin, sentence: STATE_SENTENCE }, ...rows];
}

/** Tells who decided the value of a path: the default, or a line of the file. */
export async function findOrigins({ file }: Config): Promise<(path: Path) => string> {
  if (file === null) return () => 'default';
  const placeOf = await findPlaces(file.text);
  return (path) => {
    const place = placeOf(path, 'key');
    return place === undefined ? 'default' : `${file.name}:${place.line}`;
  };
}

function itemsOf(config: Config, row: ConfigKey): readonly Item[] {
  const [section = '', name = ''] = row.key.split('.');
  if (section === 'groups') {
    return [...config.groups].map(([group, value]) => ({ path: ['groups', group], value, row }));
  }
  if (section === 'budget[]') {
    return config.budgets.flatMap((budget, i) => {
      const value = budgetValue(budget, name);
      return value === null ? [] : [{ path: ['budget', i, name], value, row }];
    });
  }
  if (section === 'secret[]') {
    return config.secrets.flatMap((secret, i) => {
      const value = secret[name as keyof SecretRule];
      return value === null ? [] : [{ path: ['secret', i, name], value, row }];
    });
  }
  if (section === 'upstream[]') {
    return config.upstreams.flatMap((upstream, i) => {
      const value = (upstream as Readonly<Record<string, Value | null>>)[camelCase(name)] ?? null;
      return value === null ? [] : [{ path: ['upstream', i, name], value, row }];
    });
  }
  const values = config[section as 'limits'] as Readonly<Record<string, Value>>;
  const value =
    row.type === 'duration'
      ? formatDuration(values[`${camelCase(name)}Ms`] as number)
      : (values[camelCase(name)] ?? '');
  return [{ path: [section, name], value, row }];
}

function budgetValue(budget: BudgetRule, name: string): Value | null {
  if (name === 'window') return budget.windowMs === null ? null : formatDuration(budget.windowMs);
  return (budget as Readonly<Record<string, Value | null>>)[camelCase(name)] ?? null;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
