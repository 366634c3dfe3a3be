/*
 * Tier C on macOS, as far as it goes: a command becomes a Seatbelt profile and a command line. It can be planned and
 * read, and that is all yet: no launcher reports from inside, so nothing proves the walls, and a run that nobody can
 * prove does not count as held. Written from the documentation of the system, not tried on it.
 */
import type { LimitName, ProcessTerms } from '../../core/process.ts';
import { type PlanRefusal, unenforceable } from '../plan/unenforceable.ts';
import type { CommandPlan, CommandTier, RunPlace } from '../process/command-plan.ts';
import { findProgram, type Lack, type Program } from '../process/machine.ts';
import { planSeatbelt, type SeatbeltHost, type SeatbeltPlan } from './plan.ts';

/** What the probe found, and what the operator does without. */
export type SeatbeltFindings = SeatbeltHost & {
  readonly sandboxExecSha256: string;
  /** Limits that the operator has said may go unheld here; any other that cannot be held refuses the run. */
  readonly mayGoUnheld: readonly LimitName[];
};

/** A command with its sandbox; it has no launcher, so its parts are those of a process. */
export type SeatbeltCommand = Pick<SeatbeltPlan, 'ok' | 'file' | 'argv' | 'env' | 'cwd'> &
  Pick<CommandPlan, 'missing'>;

export type SeatbeltTier = Omit<CommandTier, 'plan'> & {
  readonly plan: (terms: ProcessTerms, place: RunPlace) => SeatbeltCommand | PlanRefusal;
};

const SANDBOX_EXEC = ['/usr/bin/sandbox-exec'];
const NO_SANDBOX_EXEC = {
  why: 'sandbox-exec is not there',
  fix: 'It is a part of macOS: repair the system, or run palisade on Linux.',
};
const NOT_MACOS = {
  ok: false,
  why: 'Seatbelt is a part of macOS alone',
  fix: 'Use tier C of this system; `palisade doctor` says what it needs.',
} as const;

/** Where sandbox-exec is; on every other system than macOS it is refused. */
export function findSandboxExec(platform: NodeJS.Platform, paths = SANDBOX_EXEC): Program | Lack {
  return platform === 'darwin' ? findProgram(paths, NO_SANDBOX_EXEC) : NOT_MACOS;
}

/** The tier that these findings give. It plans; whoever would start the plan is told that nothing proves it. */
export function seatbeltTier(found: SeatbeltFindings): SeatbeltTier {
  const { sandboxExecSha256 } = found;
  return {
    name: 'c',
    executor: `sandbox-exec@${sandboxExecSha256}`,
    about: { boundary: 'Seatbelt', sandboxExecSha256 },
    plan: (terms, { asRoot, cgroups }) => {
      const plan = planSeatbelt(terms, found);
      if (!plan.ok) return plan;
      const refusal = refuseHost(asRoot !== null, cgroups) ?? refuseUnheld(plan, found.mayGoUnheld);
      return refusal ?? commandOf(plan);
    },
  };
}

function refuseHost(isRoot: boolean, cgroups: number): PlanRefusal | null {
  if (!isRoot && cgroups === 0) return null;
  const what = isRoot ? 'another user for the run' : `${cgroups} control groups`;
  return unenforceable(
    `Cannot plan the run: it needs ${what}, which macOS has not, expected a gateway of an ordinary user`,
    'Start palisade as an ordinary user.',
  );
}

/** Boundary: a limit that nothing holds is refused, not left out, unless the operator has named it. */
function refuseUnheld({ unheld }: SeatbeltPlan, mayGoUnheld: readonly LimitName[]): PlanRefusal | null {
  const missed = unheld.filter((name) => !mayGoUnheld.includes(name));
  if (missed.length === 0) return null;
  return unenforceable(
    `Cannot hold the limits ${missed.join(', ')}: macOS has none for a tree of processes, expected a system that has`,
    'Run palisade on Linux, or say that these limits may go unheld.',
  );
}

function commandOf({ file, argv, env, cwd }: SeatbeltPlan): SeatbeltCommand {
  const missing = () => 'nobody reports from inside a Seatbelt sandbox, expected the launcher';
  return { ok: true, file, argv, env, cwd, missing };
}
