/*
 * What `process.tool_homes` shows to commands: the rows of the table that are in the home of the operator, as paths
 * without links, directories for the search path, and variables. Reads the file system once, when a gateway opens.
 */
import { readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { matchesPattern } from '../config/grammar.ts';
import { CodedError } from '../core/coded-error.ts';
import { ancestorsOf, isWithin } from '../core/paths.ts';
import { orElse } from '../core/result.ts';
import { TOOL_HOME_NAMES, TOOL_HOMES, type ToolHome } from './tool-homes.table.ts';

/** What the tool homes add to the settings of commands. */
export type ShownTools = {
  readonly readOnly: readonly string[];
  readonly searchPath: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
};

const EVERY_TOOL_HOME = '*';

/** The tool homes of these names; refuses one that is not there or that the user of commands cannot reach. */
export function findToolHomes(names: readonly string[], home: string | null): ShownTools {
  const isAll = names.includes(EVERY_TOOL_HOME);
  const unknown = names.find((name) => name !== EVERY_TOOL_HOME && !TOOL_HOME_NAMES.includes(name));
  if (unknown !== undefined) throw notKnown(unknown);
  const rows = TOOL_HOMES.filter(({ name }) => isAll || names.includes(name));
  const found = rows.map((row) => {
    const tools = home === null ? NO_TOOLS : lookAt(row, home);
    if (tools.readOnly.length === 0 && !isAll) throw absent(row.name, home);
    return tools;
  });
  const all = {
    readOnly: unique(found.flatMap(({ readOnly }) => readOnly)),
    searchPath: unique(found.flatMap(({ searchPath }) => searchPath)),
    variables: Object.assign({}, ...found.map(({ variables }) => variables)),
  };
  demandReach(all.readOnly);
  return all;
}

/** The tool home that would show a program of this name; null where there is none. */
export function toolHomeWith(program: string, home: string | null): string | null {
  const has = (row: ToolHome, at: string) => {
    const { readOnly, searchPath } = lookAt(row, at);
    const files = searchPath.flatMap((path) => orElse(() => [realpathSync.native(join(path, program))], []));
    return files.some((file) => readOnly.some((path) => isWithin(file, path)));
  };
  return home === null ? null : (TOOL_HOMES.find((row) => has(row, home))?.name ?? null);
}

export const NO_TOOLS: ShownTools = { readOnly: [], searchPath: [], variables: {} };

function lookAt({ shown, path, variables = {} }: ToolHome, home: string): ShownTools {
  const real = (pattern: string) =>
    expand(home, pattern).flatMap((each) => orElse(() => [realpathSync.native(each)], []));
  const readOnly = shown.flatMap(real);
  if (readOnly.length === 0) return NO_TOOLS;
  const named = Object.entries(variables).flatMap(([name, below]) => real(below).map((at) => [name, at]));
  return { readOnly, searchPath: path.flatMap(real), variables: Object.fromEntries(named) };
}

/** The paths that a pattern matches, the highest version first. */
function expand(above: string, pattern: string): readonly string[] {
  const [part = '', ...rest] = pattern.split('/');
  const below = rest.join('/');
  const names = part.includes('*') ? matchesIn(above, part) : [part];
  const paths = names.map((name) => join(above, name));
  return below === '' ? paths : paths.flatMap((path) => expand(path, below));
}

function matchesIn(directory: string, pattern: string): readonly string[] {
  const names = orElse(() => readdirSync(directory), []).filter((name) => matchesPattern(pattern, name));
  return names.sort((one, other) => other.localeCompare(one, 'en', { numeric: true }));
}

const OTHERS_ENTER = 0o001;

/** Boundary: commands of root run as another user, who would see a jail that does not start. */
function demandReach(paths: readonly string[]): void {
  if (process.getuid?.() !== 0) return;
  const closed = paths.flatMap(ancestorsOf).find((path) => (statSync(path).mode & OTHERS_ENTER) === 0);
  if (closed === undefined) return;
  throw new CodedError(
    'config/invalid',
    `Cannot show the tools in process.tool_homes: palisade runs as root and its commands as another user, who cannot enter "${closed}"`,
    { remedy: `Start palisade as the user of that home, or allow it with: chmod o+x ${closed}` },
  );
}

function notKnown(name: string): CodedError {
  return new CodedError(
    'config/invalid',
    `Cannot show the tools of "${name}": it is unknown, expected one of ${TOOL_HOME_NAMES.join(', ')}`,
    { remedy: `Take "${name}" out of process.tool_homes, and name its directory in process.read_only.` },
  );
}

function absent(name: string, home: string | null): CodedError {
  return new CodedError(
    'config/invalid',
    `Cannot show the tools of "${name}": there are none in ${home === null ? 'an unknown home' : `"${home}"`}, expected them where the tool installs itself`,
    { remedy: `Take "${name}" out of process.tool_homes, or name the directory in process.read_only.` },
  );
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
