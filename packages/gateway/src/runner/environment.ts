import { matchesPattern } from '../config/grammar.ts';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { NEVER_FOR_SERVERS, NEVER_VARIABLES, VALUE_SHAPES } from './environment.table.ts';
import type { RunnerSettings } from './settings.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Why no caller may set a variable of that name; null where the operator decides. */
export function reasonNever(name: string, table = NEVER_VARIABLES): string | null {
  const upper = name.toUpperCase();
  return table.find(({ pattern }) => matchesPattern(pattern, upper))?.why ?? null;
}

/** Whether an operator may give an MCP server a variable of that name. */
export function isForServers(name: string): boolean {
  return NAME.test(name) && reasonNever(name, NEVER_FOR_SERVERS) === null;
}

type EnvironmentSettings = Pick<
  RunnerSettings,
  'searchPath' | 'tmpDir' | 'envAllow' | 'envOfOperator' | 'tools'
>;

/** The whole environment of a run: our base and what the caller may add. Nothing is inherited from the gateway. */
export function environmentOf(
  asked: Readonly<Record<string, string>>,
  home: string,
  settings: EnvironmentSettings,
): Readonly<Record<string, string>> {
  const { searchPath, tmpDir, tools } = settings;
  const entries = Object.entries(asked);
  for (const [name, value] of entries) demandAllowed(name, value, settings);
  const base = {
    PATH: searchPath.join(':'),
    HOME: home,
    TMPDIR: tmpDir,
    LANG: 'C.UTF-8',
    // Without a value, `tput`, `clear` and scripts that call them fail; no run has a terminal.
    TERM: 'dumb',
    ...tools.variables,
  };
  return Object.fromEntries([...Object.entries(base), ...entries]);
}

const FOR_CALLERS = {
  table: NEVER_VARIABLES,
  who: 'no caller',
  remedy: 'Leave it out; no setting allows it.',
};
const FOR_SERVERS = {
  table: NEVER_FOR_SERVERS,
  who: 'no one',
  remedy:
    'Leave it out. For a token or a password, define a secret in palisade.toml and name it with --secret.',
};

function demandAllowed(
  name: string,
  value: string,
  { envAllow, envOfOperator }: Pick<EnvironmentSettings, 'envAllow' | 'envOfOperator'>,
): void {
  // Boundary: `BASH_FUNC_x%%`, `A=B` and the like are not valid names, whatever a shell makes of them.
  if (!NAME.test(name))
    throw refusal(name, 'it is not a valid variable name, expected letters, digits and _', 'Leave it out.');
  // Boundary: the never-list comes first, so that no allow-list opens it.
  const { table, who, remedy } = envOfOperator === true ? FOR_SERVERS : FOR_CALLERS;
  const never = reasonNever(name, table);
  if (never !== null) throw refusal(name, `${who} may set it (${never}), expected another variable`, remedy);
  if (!envAllow.some((pattern) => matchesPattern(pattern, name)))
    throw refusal(
      name,
      `it is not on the allow-list, expected one of ${envAllow.join(', ')}`,
      `Leave it out, or add ${quote(name)} to process.env in palisade.toml.`,
    );
  if (/[\0\p{Surrogate}]/u.test(value))
    throw refusal(name, 'its value has a NUL or a lone surrogate, expected text', 'Change the value.');
  const shape = VALUE_SHAPES.find((row) => matchesPattern(row.name, name));
  if (shape !== undefined && !shape.accepts.test(value))
    throw refusal(name, `its value has another form, expected ${shape.expected}`, 'Change the value.');
}

function refusal(name: string, what: string, remedy: string): CodedError {
  return new CodedError('runner/environment', `Cannot set ${quote(name)}: ${what}`, { remedy });
}
