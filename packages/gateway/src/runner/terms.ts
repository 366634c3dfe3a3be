import type { Code } from '@palisade/sdk';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { type Refused, type RefusedCode, refuse } from '../core/outcome.ts';
import type { EgressMode, ProcessFacts, ProcessLimits, ProcessTerms } from '../core/process.ts';
import { accept, type Result, reject } from '../core/result.ts';
import type { AllowList } from '../egress/allowlist.ts';
import { denyHost } from '../egress/decide.ts';
import { type ArgumentPath, type ArgumentScope, pathsIn } from './arguments.ts';
import { type ClassifyDeps, classify } from './classify.ts';
import { environmentOf } from './environment.ts';
import { type ExecutableScope, resolveExecutable } from './executable.ts';
import { type ForbiddenPlaces, openedPath } from './forbidden.ts';
import { hostsIn } from './host-lists.ts';
import type { ProcessInput } from './input.ts';
import { interpretersOf, judgedFiles } from './judged-files.ts';
import { resolvePath } from './resolve-path.ts';
import { demandGranted, demandHidden } from './secrets.ts';
import type { RunnerSettings } from './settings.ts';
import { type FileFacts, findCwd, findWorkspace, isSameDirectory, isSameFile } from './workspace.ts';

/*
 * Turns what a caller requests into what would run. It takes a parsed input, all of it hostile, and the operator's
 * settings, which are trusted; it returns terms in which every path is canonical, every limit a number and every
 * variable allowed, and the facts that policies judge. Nothing is started here and nothing is written.
 *
 * This module refuses what no policy could allow: a path outside the workspace, a variable of the loader, an invalid
 * limit. Whether a shell or an interpreter may run is not decided here; `facts.kind` tells the policies.
 *
 * Files may change between this check and the run. `findChange` checks again, as late as the tier can call it; the tier
 * opens the workspace by descriptor and compares it with the facts, and the launcher executes the judged files alone. In
 * Tier B a later swap of a file that an argument names still succeeds; in Tier C what is outside is not mounted.
 */

export type RunnerDeps = ClassifyDeps & { readonly forbidden: ForbiddenPlaces };

/** What the policies see of a command, besides its input, and what was examined for it. */
type CommandFacts = ProcessFacts & ReturnType<typeof classify> & { readonly seen: Seen };

/** What was examined, for a second check. */
type Seen = {
  readonly workspace: FileFacts;
  readonly cwd: FileFacts;
  /** The program, or the script and its interpreters. */
  readonly files: readonly FileFacts[];
  readonly args: readonly string[];
  readonly paths: readonly string[];
  readonly scope: ArgumentScope;
  readonly forbidden: ForbiddenPlaces;
};

/** What would run, and what the policies see of it. */
export type CheckedTerms = { readonly terms: ProcessTerms; readonly facts: CommandFacts };

type TermsResult = Result<CheckedTerms, Refused>;

const EGRESS_BY_LOOSENESS: readonly EgressMode[] = ['strict', 'preflight', 'none'];

/** The terms of a command and the facts about it, or why it is refused. */
export function termsOf(input: ProcessInput, settings: RunnerSettings, deps: RunnerDeps): TermsResult {
  try {
    return accept(draw(input, settings, deps));
  } catch (error) {
    if (!(error instanceof CodedError) || !isRunnerCode(error.code)) throw error;
    return reject(refuse(error.code, error.message, error.remedy));
  }
}

function isRunnerCode(code: Code): code is Extract<RefusedCode, `runner/${string}`> {
  return code.startsWith('runner/');
}

function draw(input: ProcessInput, settings: RunnerSettings, deps: RunnerDeps): CheckedTerms {
  const limits = meetLimits(input.limits, settings);
  const egress = chooseEgress(input.egress, settings.loosestEgress);
  demandWritable(input.allowWrites, settings.allowedWrites);
  const { facts: workspace, root } = findWorkspace(input.workspace, settings, deps.forbidden);
  const cwd = findCwd(input.cwd, workspace);
  const env = environmentOf(input.env, settings.home ?? workspace.path, settings);
  const { readOnly } = settings;
  demandHidden(settings.secrets, { workspace: workspace.path, readOnly });
  const scope = { ...settings, cwd: cwd.path, workspace: workspace.path };
  const executable = resolveExecutable(input.command, scope, deps.digests);
  const interpreters = interpretersOf(executable, scope, deps.digests);
  const argumentScope = argumentScopeOf(scope, env);
  const found = pathsIn(input.args, argumentScope);
  demandInside(found, 'argument');
  demandInside(pathsIn(Object.values(input.env), argumentScope), 'value');
  const paths = [...new Set(found.map(({ resolved }) => resolved))];
  const hosts = hostsIn(input.args, executable.argv0);
  if (egress === 'preflight') demandListed(hosts, settings.egressHosts);
  const terms: ProcessTerms = {
    executable: executable.path,
    executableSha256: executable.sha256,
    files: judgedFiles(executable, interpreters, scope, deps.digests),
    argv: [executable.argv0, ...input.args],
    workspace: workspace.path,
    cwd: cwd.path,
    directories: { workspace: identityOf(workspace), cwd: identityOf(cwd) },
    env,
    stdin: input.stdin,
    limits,
    egress,
    ...networkOf(input, egress, settings),
    readOnly,
    protectedPaths: settings.protectedPaths,
    allowedWrites: input.allowWrites,
  };
  const { args, tier } = input;
  const files = [executable, ...interpreters].map(({ facts }) => facts);
  const seen: Seen = {
    ...{ workspace, cwd, files, args, paths, scope: argumentScope },
    forbidden: deps.forbidden,
  };
  const classified = classify(executable, args, scope, { ...deps, interpreters });
  return { terms, facts: { ...classified, tier: tier ?? 'c', root, paths, hosts, seen } };
}

function identityOf({ dev, ino }: FileFacts): string {
  return `${dev}:${ino}`;
}

function argumentScopeOf(
  { cwd, workspace, readOnly }: ExecutableScope,
  env: Readonly<Record<string, string>>,
): ArgumentScope {
  const home = resolvePath(env.HOME ?? workspace, '/').path;
  return { cwd, workspace, readOnly, home, variables: env };
}

/** Boundary: one meaning of one argument that leads outside refuses the command. */
function demandInside(paths: readonly ArgumentPath[], what: 'argument' | 'value'): void {
  const outside = paths.find(({ zone }) => zone === 'outside');
  if (outside === undefined) return;
  const { argument, meaning, resolved } = outside;
  const how = meaning === argument ? '' : `, read as ${quote(meaning)},`;
  throw new CodedError(
    'runner/outside-workspace',
    `Cannot run the command: the ${what} ${quote(argument)}${how} leads to ${quote(resolved)}, expected a path in the workspace or the system`,
    {
      remedy: `Name a path inside the workspace, or add ${quote(resolved)} to process.read_only in palisade.toml.`,
    },
  );
}

/** Boundary: a call can request a network mode as strict as configured, or stricter. */
function chooseEgress(asked: EgressMode | null, loosest: EgressMode): EgressMode {
  const egress = asked ?? 'strict';
  if (EGRESS_BY_LOOSENESS.indexOf(egress) <= EGRESS_BY_LOOSENESS.indexOf(loosest)) return egress;
  throw new CodedError(
    'runner/egress-denied',
    `Cannot run the command: it asks for egress "${egress}", expected nothing looser than "${loosest}"`,
    { remedy: `Ask for egress "${loosest}", or set process.egress = "${egress}" in palisade.toml.` },
  );
}

/** Boundary: a call writes only those protected files that it asks for and the operator allows. */
function demandWritable(asked: ProcessInput['allowWrites'], allowed: RunnerSettings['allowedWrites']): void {
  const denied = asked.find((row) => !allowed.includes(row));
  if (denied === undefined) return;
  throw new CodedError(
    'runner/not-allowed',
    `Cannot run the command: it asks to write "${denied}", expected rows that process.allow_writes has`,
    {
      remedy: `Leave it out of allow_writes, or add "${denied}" to process.allow_writes in palisade.toml.`,
    },
  );
}

/** Where a strict run may go, and the secrets that it uses there; in any other mode neither could be enforced. */
function networkOf(
  { egressHosts, secrets, env }: ProcessInput,
  egress: EgressMode,
  settings: RunnerSettings,
): Pick<ProcessTerms, 'egressHosts' | 'secrets'> {
  if (egress !== 'strict') return { egressHosts: [], secrets: [] };
  demandGranted(secrets, settings.secrets, env);
  // The caller's entries only narrow: a request has to be allowed by the operator's list as well.
  const entries = egressHosts ?? settings.egressHosts.entries;
  if (secrets.length > 0 && entries.every((entry) => entry.startsWith('!'))) {
    throw new CodedError(
      'runner/egress-denied',
      'Cannot run the command: it asks for secrets and can reach no host, expected hosts to use them with',
      { remedy: 'Leave the secrets out, or add their hosts to process.egress_hosts in palisade.toml.' },
    );
  }
  return { egressHosts: entries, secrets };
}

function demandListed(hosts: readonly string[], egressHosts: AllowList): void {
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

/**
 * Describes what has changed since the terms were drawn; null when nothing has. `workspaceFd` is the workspace that the
 * run has open; null: there is none yet.
 */
export function findChange({ seen }: Pick<CommandFacts, 'seen'>, workspaceFd: number | null): string | null {
  const { workspace, cwd, files, args, paths, scope, forbidden } = seen;
  // Boundary: the directory that the run gets is judged itself, by its descriptor and the mounts of this moment.
  const reason =
    workspaceFd === null ? null : forbidden.againstWorkspace(openedPath(workspaceFd, workspace.path));
  if (reason !== null) return `the workspace ${quote(workspace.path)} ${reason}`;
  if (!isSameDirectory(workspace)) return `the workspace ${quote(workspace.path)} is another directory`;
  if (!isSameDirectory(cwd)) return `the working directory ${quote(cwd.path)} is another directory`;
  const other = files.find((file) => !isSameFile(file));
  if (other !== undefined) return `the program ${quote(other.path)} is another file`;
  // A link that now points elsewhere, or is new, gives other paths for the same arguments.
  const before = new Set(paths);
  const moved = readAgain(args, scope).find(({ resolved }) => !before.has(resolved));
  if (moved === undefined) return null;
  return `the argument ${quote(moved.argument)} leads to ${quote(moved.resolved)} now`;
}

/** Boundary: planted files can make resolving the arguments take too long; their targets are then unknown. */
function readAgain(
  args: readonly string[],
  scope: ArgumentScope,
): readonly Pick<ArgumentPath, 'argument' | 'resolved'>[] {
  try {
    return pathsIn(args, scope);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return [{ argument: args.join(' '), resolved: 'too many places' }];
  }
}

/** The requested limits, else the defaults, each lowered to its ceiling. Only returns whole numbers above 0. */
export function meetLimits(
  asked: Partial<ProcessLimits>,
  { defaults, ceilings }: Pick<RunnerSettings, 'defaults' | 'ceilings'>,
): ProcessLimits {
  const unknown = Object.keys(asked).find((term) => !Object.hasOwn(ceilings, term));
  if (unknown !== undefined) throw badLimit(unknown, 'it is unknown');
  const terms = Object.keys(ceilings) as (keyof ProcessLimits)[];
  const met = terms.map((term) => {
    const value = asked[term] ?? defaults[term];
    return [term, Math.min(checked(term, value), checked(term, ceilings[term]))];
  });
  return Object.fromEntries(met) as ProcessLimits;
}

function checked(term: string, value: number): number {
  // Boundary: zero, a negative, a fraction, NaN and inexact numbers are refused; to a kernel 0 or -1 is "no limit".
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw badLimit(term, `it is ${value}`);
}

function badLimit(term: string, is: string): CodedError {
  return new CodedError(
    'runner/invalid-limits',
    `Cannot use the limit ${term}: ${is}, expected a whole number of at least 1`,
  );
}
