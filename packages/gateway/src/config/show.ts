import type { ValuePath } from '../core/result.ts';
import { formatPath } from '../core/shape-problem.ts';
import { propertyOf, type Value } from './check.ts';
import { CONFIG_KEYS, type ConfigKey } from './config.table.ts';
import type { Config } from './config.ts';
import type { StateDir } from './environment.ts';
import { formatDuration } from './grammar.ts';
import { findPositions } from './load.ts';

type ConfigRow = {
  readonly key: string;
  readonly value: Value;
  /** `default`, `palisade.toml:12`, `environment PALISADE_STATE`, `flag --state`. */
  readonly origin: string;
  readonly sentence: string;
};

type Item = { readonly path: ValuePath; readonly value: Value; readonly row: ConfigKey };

const STATE_SENTENCE = 'The directory of the database, the keys and the policies; no key of palisade.toml.';

const LIMIT_SECTIONS: readonly string[] = ['limits', 'wasm'];
/** Where the value of a limit comes from that the file does not set by its own name. */
const OTHER_NAMES = ['wasm', 'limits', 'ceilings'];

/** Every effective value, its source, and its meaning. */
export async function showConfig(config: Config, stateDir: StateDir): Promise<readonly ConfigRow[]> {
  const originOf = await findOrigins(config);
  const rows = CONFIG_KEYS.flatMap((row) => itemsOf(config, row)).map(({ path, value, row }) => {
    const [section = '', term = ''] = path;
    // A limit that is neither in the file nor at its default is that of another name, or was lowered to its ceiling.
    const isOther = LIMIT_SECTIONS.includes(String(section)) && value !== row.default;
    const paths = isOther ? [path, ...OTHER_NAMES.map((other) => [other, term])] : [path];
    const origin = paths.map(originOf).find((each) => each !== 'default') ?? 'default';
    return { key: formatPath(path), value, origin, sentence: row.sentence };
  });
  return [{ key: 'state', value: stateDir.path, origin: stateDir.origin, sentence: STATE_SENTENCE }, ...rows];
}

/** Tables of palisade.toml that are lists, by the names that a Config has for them. */
const LISTS = {
  budget: 'budgets',
  secret: 'secrets',
  upstream: 'upstreams',
  registry: 'registries',
} as const;

/** Who decided the value of a path: the default, or a line of the file. */
async function findOrigins({ file }: Config): Promise<(path: ValuePath) => string> {
  if (file === null) return () => 'default';
  const positions = await findPositions(file.text);
  return (path) => {
    const position = positions(path, 'key');
    return position === undefined ? 'default' : `${file.name}:${position.line}`;
  };
}

function itemsOf(config: Config, row: ConfigKey): readonly Item[] {
  const [section = '', name = ''] = row.key.split('.');
  if (section === 'groups') {
    return [...config.groups].map(([group, value]) => ({ path: ['groups', group], value, row }));
  }
  if (!section.endsWith('[]')) {
    const value = shownValue(config[section as 'limits'], row);
    return [{ path: [section, name], value: value ?? '', row }];
  }
  const table = section.slice(0, -2) as keyof typeof LISTS;
  return config[LISTS[table]].flatMap((each, i) => {
    const value = shownValue(each, row);
    return value === null ? [] : [{ path: [table, i, name], value, row }];
  });
}

function shownValue(table: object, row: ConfigKey): Value | null {
  const value = (table as Readonly<Record<string, Value | null>>)[propertyOf(row)] ?? null;
  return row.type === 'duration' && typeof value === 'number' ? formatDuration(value) : value;
}
