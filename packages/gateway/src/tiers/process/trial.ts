/**
 * Starts a command that does nothing through the plan of a tier, in a new directory that is removed afterwards, and
 * judges what is reported from inside as for every run. It reports whether the tier works on this machine, and if not,
 * at which step it failed and with what message.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Digest } from '../../core/digest.ts';
import type { ProcessLimits, ProcessTerms } from '../../core/process.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { SAMPLE_PASS } from '../network/plan.ts';
import { type HeldWorkspace, holdWorkspace } from '../workspace/held-directory.ts';
import { type Attempt, attemptOf, type Fault, faultWords } from './attempt.ts';
import { fixOf, type ReadSetting } from './fixes.table.ts';
import { HARMLESS, textOf } from './machine.ts';
import type { CommandPlan } from './plan.ts';
import type { IsolationGap } from './proof.ts';
import { openSandbox, runInSandbox, type Sandbox, type SandboxKit, statusOf } from './sandbox.ts';
import type { Facts, Found, Lack } from './tier.ts';

/** What a trial needs beside the tier. */
export type TrialKit = Omit<SandboxKit, 'launcher'> & {
  readonly clock: Clock;
  readonly limits: ProcessLimits;
  /** A number for each trial: several can be under way at the same time. */
  readonly nextTrial: () => number;
  readonly readSetting?: ReadSetting;
};

/** What was reported from inside, or why it failed: a start that failed, or facts that do not prove the plan. */
export type Trial = Result<Facts, FailedTrial>;

type FailedTrial = Lack & {
  readonly fault?: Fault;
  readonly unproven?: { readonly facts: Facts; readonly gap: IsolationGap };
};

const PATIENCE_MS = 10_000;
const NOBODY_READ = `sha256:${'0'.repeat(64)}` as Digest;
const UNPROVEN_FIX =
  'Do not run commands in this tier here: install the updates of your system, then run `palisade doctor` again.';

/** Tries a tier once, in a new directory or in the given one. Nothing of it is left when this returns. */
export async function tryTier(
  { tier, launcher }: Found,
  kit: TrialKit,
  given: string | null = null,
): Promise<Trial> {
  let workspace: string | null = given;
  let held: HeldWorkspace | null = null;
  let sandbox: Sandbox | null = null;
  try {
    workspace ??= makeWorkspace();
    held = holdWorkspace(workspace);
    const terms = trialTerms(workspace, kit.limits);
    const id = `trial-${tier.name}-${kit.nextTrial()}`;
    const wish = { id, terms, held, pass: SAMPLE_PASS };
    const opened = await openSandbox({ ...kit, launcher }, tier, wish);
    sandbox = opened.sandbox;
    const signal = new AbortController().signal;
    const run = { plan: opened.plan, terms, serve: async () => undefined };
    const end = await runInSandbox(sandbox, run, { signal, clock: kit.clock });
    return judge(opened.plan, attemptOf(end, statusOf(end)), kit.readSetting ?? textOf);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return reject({ why: error.message, fix: error.remedy });
  } finally {
    held?.close();
    await sandbox?.close();
    if (workspace !== null && given === null) rmSync(workspace, { recursive: true, force: true });
  }
}

function makeWorkspace(): string {
  try {
    return realpathSync.native(mkdtempSync(join(tmpdir(), 'palisade-trial-')));
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'an error';
    throw new CodedError(
      'tier/unenforceable',
      `a directory in "${tmpdir()}" gives ${reason}, expected one for the trial`,
      { remedy: 'Set TMPDIR to a directory that palisade can write to.' },
    );
  }
}

function trialTerms(workspace: string, limits: ProcessLimits): ProcessTerms {
  return {
    executable: realpathSync.native(HARMLESS.file),
    executableSha256: NOBODY_READ,
    files: [],
    argv: HARMLESS.argv,
    ...{ workspace, cwd: workspace, directories: null, env: {}, stdin: null },
    limits: { ...limits, wallMs: Math.min(limits.wallMs, PATIENCE_MS) },
    ...{
      outputOverflow: 'kill',
      egress: 'strict',
      egressHosts: [],
      secrets: [],
      readOnly: [],
      gitIdentity: null,
      ports: [],
      protectedPaths: [],
      allowedWrites: [],
    },
  };
}

function judge(plan: CommandPlan, attempt: Attempt, read: ReadSetting): Trial {
  const facts = attempt.ok ? attempt.value : attempt.problem.facts;
  const gap = facts === undefined ? null : plan.missing(facts);
  if (!attempt.ok && gap === null) {
    const fault = attempt.problem;
    return reject({ why: faultWords(fault), fix: fixOf(fault, read), fault });
  }
  if (gap === null || facts === undefined) return accept(facts ?? {});
  return reject({ why: gap.text, fix: UNPROVEN_FIX, unproven: { facts, gap } });
}
