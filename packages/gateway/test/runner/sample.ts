import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Refused } from '../../src/core/outcome.ts';
import { KnownPrograms } from '../../src/runner/classify.ts';
import { FileDigests } from '../../src/runner/executable.ts';
import { ForbiddenPlaces } from '../../src/runner/forbidden.ts';
import type { ProcessInput } from '../../src/runner/input.ts';
import { commandsIn, type NamedArgument } from '../../src/runner/named-commands.ts';
import { DEFAULT_SETTINGS, type RunnerSettings } from '../../src/runner/settings.ts';
import { type CheckedTerms, type RunnerDeps, termsOf } from '../../src/runner/terms.ts';
import { tempDir } from '../fixture/temp-dir.ts';

export const CANARY = 'the canary sings';

/** A host with one workspace, a canary and a state directory beside it. */
export type Host = {
  readonly root: string;
  readonly workspace: string;
  readonly outside: string;
  readonly canary: string;
  readonly stateDir: string;
  readonly home: string;
  readonly settings: RunnerSettings;
  readonly deps: RunnerDeps;
};

export function makeHost(changes: Partial<RunnerSettings> = {}): Host {
  // Not in /tmp, which every command may name.
  const root = realpathSync(tempDir('/var/tmp'));
  const [workspace, outside, stateDir, home] = ['workspace', 'outside', 'state', 'home'].map((name) => {
    const path = join(root, name);
    mkdirSync(path);
    return path;
  }) as [string, string, string, string];
  const canary = join(outside, 'canary.txt');
  writeFileSync(canary, CANARY);
  const settings: RunnerSettings = {
    ...DEFAULT_SETTINGS,
    workspaceRoots: [workspace],
    defaultWorkspace: workspace,
    ...changes,
  };
  return {
    root,
    workspace,
    outside,
    canary,
    stateDir,
    home,
    settings,
    deps: makeDeps(settings, stateDir, home),
  };
}

export function makeDeps(settings: RunnerSettings, stateDir: string, home: string): RunnerDeps {
  const digests = new FileDigests({ nowMs: () => Date.now() });
  return {
    digests,
    known: new KnownPrograms(settings.searchPath, digests),
    forbidden: new ForbiddenPlaces({ stateDir, home }),
  };
}

export const ASKS_NOTHING: Omit<ProcessInput, 'command'> = {
  args: [],
  cwd: null,
  env: {},
  stdin: null,
  workspace: null,
  egress: null,
  egressHosts: null,
  secrets: [],
  allowWrites: [],
  ports: [],
  tier: null,
  limits: {},
  outputOverflow: null,
};

/** The answer to a command, with the refusal or the terms spread out so that tests can match either. */
export type Answer = ({ readonly ok: true } & CheckedTerms) | ({ readonly ok: false } & Refused);

export function ask(host: Host, input: Partial<ProcessInput>, settings = host.settings): Answer {
  const result = termsOf({ command: 'cat', ...ASKS_NOTHING, ...input }, settings, host.deps);
  return result.ok ? { ok: true, ...result.value } : { ok: false, ...result.problem };
}

/** The terms and facts of a command that must be accepted. */
export function accept(host: Host, input: Partial<ProcessInput>): CheckedTerms {
  const result = ask(host, input);
  if (!result.ok) throw new Error(`${result.code}: ${result.message}`);
  return result;
}

/** The arguments of a program that no table knows. */
export function plainArguments(...args: readonly string[]): readonly NamedArgument[] {
  return commandsIn('', args).commands.flatMap((command) => command.args);
}

/** `ok`, or the code of the refusal. */
export function verdict(result: Answer): string {
  return result.ok ? 'ok' : result.code;
}
