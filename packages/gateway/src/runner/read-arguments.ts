import { basename } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import type { AllowList } from '../egress/allowlist.ts';
import { denyHost } from '../egress/decide.ts';
import { type ArgumentScope, type FoundPaths, pathsIn } from './arguments.ts';
import type { Executable } from './executable.ts';
import type { ProcessInput } from './input.ts';
import { MULTI_CALL } from './interpreters.table.ts';
import { commandsIn, type NamedArgument } from './named-commands.ts';
import { hostsIn } from './named-hosts.ts';
import { TooManyPaths } from './resolve-path.ts';

/*
 * What the arguments of a command name, and what follows from it. The reading never refuses by itself: the caller
 * demands, where the tier or the mode of its network leaves no one else to keep a path or a host from the command.
 */

/** What was read, and the arguments themselves, for a second look. */
export type ReadArguments = FoundPaths & {
  readonly args: readonly NamedArgument[];
  readonly hosts: readonly string[];
};

/** Reads the arguments of a command, and the values of its variables like them. */
export function readArguments(
  input: ProcessInput,
  executable: Executable,
  scope: ArgumentScope,
): ReadArguments {
  const { commands, isComplete } = commandsIn(nameOf(executable), input.args, scope.variables);
  const [own, ...inner] = commands;
  const values = commandsIn('', Object.values(input.env)).commands;
  const args = [...commands, ...values].flatMap((command) => command.args);
  const found = pathsIn(args, scope);
  const hosts = hostsIn(own === undefined ? [] : [{ ...own, program: executable.argv0 }, ...inner]);
  return { args, paths: found.paths, hosts, isComplete: isComplete && found.isComplete };
}

/** Boundary: a program of the workspace, or one under another name, may read its arguments in any way. */
function nameOf({ path, argv0, zone }: Executable): string {
  if (zone === 'workspace') return '';
  return MULTI_CALL.has(basename(path)) ? argv0 : path;
}

/** Boundary: one meaning of one argument that leads outside refuses the command, and so does one that is unknown. */
export function demandInside({ paths, isComplete }: FoundPaths, { args }: ProcessInput): void {
  const outside = paths.find(({ zone }) => zone === 'outside');
  if (outside === undefined && isComplete) return;
  if (outside === undefined) throw new TooManyPaths();
  const { argument, meaning, resolved } = outside;
  const what = args.includes(argument) ? 'argument' : 'value';
  const how = meaning === argument ? '' : `, read as ${quote(meaning)},`;
  throw new CodedError(
    'runner/outside-workspace',
    `Cannot run the command: the ${what} ${quote(argument)}${how} leads to ${quote(resolved)}, expected a path in the workspace or the system`,
    {
      remedy: `Name a path inside the workspace, run the command in tier C, or allow the path with --read-only ${quote(resolved)}.`,
    },
  );
}

/** Refuses hosts that the list does not allow. */
export function demandListed(hosts: readonly string[], egressHosts: AllowList): void {
  for (const host of hosts) {
    const why = denyHost(egressHosts, host);
    if (why === null) continue;
    throw new CodedError(
      'runner/egress-denied',
      `Cannot run the command: its arguments name the host ${quote(host)}. ${why}`,
      {
        remedy: `Add ${quote(host)} to process.egress_hosts in palisade.toml; "palisade egress explain HOST" shows the decision.`,
      },
    );
  }
}
