import type { Code } from '@palisade/sdk';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { type Refused, type RefusedCode, refuse } from '../core/outcome.ts';
import { isWithin } from '../core/paths.ts';
import {
  type EgressMode,
  isConfined,
  isWeaker,
  type OutputOverflow,
  type ProcessFacts,
  type ProcessLimits,
  type ProcessTerms,
  type ProcessTierName,
} from '../core/process.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { type ArgumentScope, pathsIn } from './arguments.ts';
import { type ClassifyDeps, classify } from './classify.ts';
import { environmentOf } from './environment.ts';
import { type ExecutableScope, resolveExecutable } from './executable.ts';
import { type ForbiddenPlaces, openedPath } from './forbidden.ts';
import { guardOf } from './guard.ts';
import type { ProcessInput } from './input.ts';
import { interpretersOf, judgedFiles } from './judged-files.ts';
import type { NamedArgument } from './named-commands.ts';
import { demandPorts } from './ports.ts';
import { demandInside, demandListed, readArguments } from './read-arguments.ts';
import { resolvePath } from './resolve-path.ts';
import { demandGranted, demandHidden } from './secrets.ts';
import type { RunnerSettings } from './settings.ts';
import { type FileFacts, findCwd, findWorkspace, isSameDirectory, isSameFile } from './workspace.ts';

/*
 * Turns what a caller requests into what would run. It takes a parsed input, all of it hostile, and the operator's
 * settings, which are trusted; it returns terms in which every path is canonical, every limit a number and every
 * variable allowed, and the facts that policies judge. Nothing is started here and nothing is written.
 *
 * This module refuses what no policy could allow: a program outside the sandbox, a variable of the loader, an invalid
 * limit. Whether a shell or an interpreter may run is not decided here; `facts.kind` tells the policies, and `facts.guard`
 * where it would run unconfined, which takes a policy of its own (policy/interpreter-guard.ts).
 *
 * What the arguments name is read for the policies (`facts.paths`, `facts.hosts`). In Tier C the kernel judges paths, so
 * a path outside refuses nothing there unless the operator wants it to (`process.argument_paths`); in Tier B, where
 * nothing else would keep it out, it refuses the command.
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
  readonly args: readonly NamedArgument[];
  readonly paths: readonly string[];
  readonly isComplete: boolean;
  readonly scope: ArgumentScope;
  readonly forbidden: ForbiddenPlaces;
  /** Whether a path refuses the command, so that a path that is another one by now does as well. */
  readonly isRefusedByPath: boolean;
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
  const outputOverflow = chooseOverflow(input.outputOverflow, settings.outputOverflow);
  const tier = chooseTier(input.tier, settings.tiers);
  const egress = chooseEgress(input.egress, settings.loosestEgress);
  demandWritable(input.allowWrites, settings.allowedWrites);
  const { facts: workspace, root } = findWorkspace(input.workspace, settings, deps.forbidden);
  const cwd = findCwd(input.cwd, workspace);
  const env = environmentOf(input.env, settings.home ?? workspace.path, settings);
  const readOnly = readOnlyOf(settings, workspace.path);
  demandHidden(settings.secrets, { workspace: workspace.path, readOnly });
  const scope = { ...settings, readOnly, cwd: cwd.path, workspace: workspace.path };
  const executable = resolveExecutable(input.command, scope, deps.digests);
  const interpreters = interpretersOf(executable, scope, deps.digests);
  const argumentScope = argumentScopeOf(scope, env);
  const read = readArguments(input, executable, argumentScope);
  demandPorts({ ports: input.ports, egress, tier }, settings.ports);
  const isRefusedByPath = !isConfined(tier) || settings.argumentPaths === 'refuse';
  if (isRefusedByPath) demandInside(read, input);
  if (egress === 'preflight') demandListed(read.hosts, settings.egressHosts);
  const judged = judgedFiles(executable, interpreters, scope, deps.digests);
  const terms: ProcessTerms = {
    executable: executable.path,
    executableSha256: executable.sha256,
    files: judged,
    argv: [executable.argv0, ...input.args],
    workspace: workspace.path,
    cwd: cwd.path,
    directories: { workspace: identityOf(workspace), cwd: identityOf(cwd) },
    env,
    stdin: input.stdin,
    limits,
    outputOverflow,
    egress,
    ...networkOf(input, egress, settings),
    ports: input.ports,
    readOnly,
    gitIdentity: settings.gitIdentity,
    protectedPaths: settings.protectedPaths,
    allowedWrites: input.allowWrites,
  };
  const files = [executable, ...interpreters].map(({ facts }) => facts);
  const { args, hosts, isComplete } = read;
  const paths = [...new Set(read.paths.map(({ resolved }) => resolved))];
  const seen: Seen = {
    ...{ workspace, cwd, files, args, paths, isComplete, scope: argumentScope },
    ...{ forbidden: deps.forbidden, isRefusedByPath },
  };
  const classified = classify(executable, input.args, scope, { ...deps, interpreters });
  const named = { paths, pathsTruncated: !isComplete, hosts };
  const guard = isConfined(tier) ? null : guardOf({ executable, interpreters, judged, classified }, scope);
  return { terms, facts: { ...classified, ...named, tier, guard, root, seen } };
}

/** The tools of the operator's home that are in the workspace are visible there anyway. */
function readOnlyOf({ readOnly, tools }: RunnerSettings, workspace: string): readonly string[] {
  return [...readOnly, ...tools.readOnly.filter((path) => !isWithin(path, workspace))];
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

/** Boundary: a call can request a tier as strong as the floor, or stronger; neither is ever replaced by another. */
function chooseTier(asked: ProcessTierName | null, tiers: RunnerSettings['tiers']): ProcessTierName {
  const tier = asked ?? tiers.default;
  if (!isWeaker(tier, tiers.floor)) return tier;
  throw new CodedError(
    'runner/not-allowed',
    `Cannot run the command: it asks for tier "${tier}", expected "${tiers.floor}" or stronger, which process.tier_floor sets`,
    {
      remedy: `Ask for tier "${tiers.floor}" (--tier ${tiers.floor}), or set process.tier_floor = "${tier}" in palisade.toml.`,
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

/** Boundary: where the operator has such runs ended, a call cannot have them go on. */
function chooseOverflow(asked: OutputOverflow | null, configured: OutputOverflow): OutputOverflow {
  if (asked !== 'cut' || configured === 'cut') return asked ?? configured;
  throw new CodedError(
    'runner/not-allowed',
    'Cannot run the command: it asks for output_overflow "cut", expected "kill", which process.output_overflow sets',
    { remedy: 'Leave output_overflow out, or set process.output_overflow = "cut" in palisade.toml.' },
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

/**
 * Describes what has changed since the terms were drawn; null when nothing has. `workspaceFd` is the workspace that the
 * run has open; null: there is none yet.
 */
export function findChange({ seen }: Pick<CommandFacts, 'seen'>, workspaceFd: number | null): string | null {
  const { workspace, cwd, files, forbidden, isRefusedByPath } = seen;
  // Boundary: the directory that the run gets is judged itself, by its descriptor and the mounts of this moment.
  const reason =
    workspaceFd === null ? null : forbidden.againstWorkspace(openedPath(workspaceFd, workspace.path));
  if (reason !== null) return `the workspace ${quote(workspace.path)} ${reason}`;
  if (!isSameDirectory(workspace)) return `the workspace ${quote(workspace.path)} is another directory`;
  if (!isSameDirectory(cwd)) return `the working directory ${quote(cwd.path)} is another directory`;
  const other = files.find((file) => !isSameFile(file));
  if (other !== undefined) return `the program ${quote(other.path)} is another file`;
  return isRefusedByPath ? findMovedPath({ seen }) : null;
}

/**
 * Describes an argument that leads to another path than when the terms were drawn; null when none does. It counts where
 * a path decided: in this module, or in a policy.
 */
export function findMovedPath({ seen }: Pick<CommandFacts, 'seen'>): string | null {
  const { args, paths, scope } = seen;
  // A link that now points elsewhere, or is new, gives other paths for the same arguments.
  const before = new Set(paths);
  const now = pathsIn(args, scope);
  const moved = now.paths.find(({ resolved }) => !before.has(resolved));
  if (moved !== undefined)
    return `the argument ${quote(moved.argument)} leads to ${quote(moved.resolved)} now`;
  // Boundary: planted files can make resolving the arguments take too long; their targets are then unknown.
  return now.isComplete || !seen.isComplete ? null : 'the arguments lead to too many places now';
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
