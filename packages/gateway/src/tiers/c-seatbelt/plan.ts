/**
 * Tier C on macOS as data: a Seatbelt profile with the terms of the jail on Linux as far as the system has them. The
 * terms come checked; the command inside is hostile. What macOS cannot hold is listed, so that whoever starts the plan
 * holds it another way, refuses, or says so. The plan starts nothing, opens nothing and looks at nothing.
 */
import type { LimitName, ProcessLimits, ProcessTerms } from '../../core/process.ts';
import { isWithin } from '../../core/within.ts';
import { hasNetwork } from '../network/plan.ts';
import { checkTerms } from '../plan/check-terms.ts';
import { type PlanRefusal, unenforceable } from '../plan/unenforceable.ts';
import { canonicalPath, PLAIN_PATH, profileText } from './profile.ts';
import { SYSTEM_READS } from './system.table.ts';

/** What the probe found on this machine. */
export type SeatbeltHost = {
  /** The absolute path of sandbox-exec. */
  readonly sandboxExec: string;
  /** A new directory of the run alone. */
  readonly temporary: string;
};

export type SeatbeltPlan = {
  readonly ok: true;
  readonly file: string;
  /** The command line, its own name first. */
  readonly argv: readonly string[];
  readonly profile: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Limits of the terms that nothing in this plan holds. */
  readonly unheld: readonly LimitName[];
};

const SHELL = '/bin/sh';
/** A size that is at most the asked one, whether the shell counts blocks of 512 or of 1,024 bytes. */
const LARGEST_BLOCK_BYTES = 1024;

/** Turns checked terms into a profile and a command line, or refuses. */
export function planSeatbelt(terms: ProcessTerms, host: SeatbeltHost): SeatbeltPlan | PlanRefusal {
  const temporary = canonicalPath(host.temporary);
  const workspace = canonicalPath(terms.workspace);
  const readOnly = terms.readOnly.map(canonicalPath);
  const refusal =
    checkTerms(terms) ??
    checkProtected(terms) ??
    checkNetwork(terms) ??
    checkPlaces(terms, { workspace, readOnly, temporary });
  if (refusal !== null) return refusal;
  const { protectedPaths, limits, egress } = terms;
  const hasNetwork = egress !== 'strict';
  const profile = profileText({ workspace, temporary, readOnly, protectedPaths, hasNetwork });
  const [, ...args] = terms.argv;
  return {
    ok: true,
    file: host.sandboxExec,
    argv: [
      ...['sandbox-exec', '-p', profile, SHELL, '-c', limitLine(limits), 'sh'],
      ...[canonicalPath(terms.executable), ...args],
    ],
    profile,
    env: { ...terms.env, HOME: temporary, TMPDIR: temporary },
    cwd: canonicalPath(terms.cwd),
    unheld: ['memory', 'processes'],
  };
}

/** Sets the limits, soft and hard, and becomes the command; a limit that cannot be set ends it before. */
function limitLine({ cpuMs, fileBytes, openFiles }: ProcessLimits): string {
  const wishes = [
    `-t ${Math.ceil(cpuMs / 1000)}`,
    `-f ${Math.floor(fileBytes / LARGEST_BLOCK_BYTES)}`,
    `-n ${openFiles}`,
    '-c 0',
  ];
  return [...wishes.map((wish) => `ulimit ${wish}`), 'umask 022', 'exec "$@"'].join(' && ');
}

/** Boundary: a profile knows addresses and no names, so it cannot hold a list of hosts. */
function checkNetwork(terms: ProcessTerms): PlanRefusal | null {
  if (!hasNetwork(terms)) return null;
  return unenforceable(
    'Cannot hold the network to a list of hosts: Seatbelt gives a run no network of its own, expected Linux for that',
    'Run palisade on Linux, or ask for no hosts.',
  );
}

function checkProtected({ protectedPaths }: ProcessTerms): PlanRefusal | null {
  // Boundary: these become patterns, where other signs have a meaning of their own.
  const odd = protectedPaths.find((path) => !PLAIN_PATH.test(path));
  if (odd === undefined) return null;
  return unenforceable(
    `Cannot protect ${JSON.stringify(odd)}: it has signs that a profile cannot match, expected letters, digits and . _ @ - /`,
    'Protect the directory above it.',
  );
}

type Places = {
  readonly workspace: string;
  readonly readOnly: readonly string[];
  readonly temporary: string;
};

function checkPlaces(terms: ProcessTerms, { workspace, readOnly, temporary }: Places): PlanRefusal | null {
  const wide = readOnly.find((path) => isWithin('/Users', path));
  if (wide !== undefined) {
    return unenforceable(
      `Cannot show "${wide}" read-only: it holds all homes, expected a directory of its own`,
      'Put what the run must read into a directory of its own and name that.',
    );
  }
  const inner = readOnly.find((path) => isWithin(path, workspace));
  if (inner !== undefined) {
    return unenforceable(
      `Cannot show "${inner}" read-only: it lies in the workspace "${workspace}", expected a path outside`,
      'Name it among the protected paths instead.',
    );
  }
  const executable = canonicalPath(terms.executable);
  const shown = [...SYSTEM_READS.map(({ path }) => path), ...readOnly, workspace, temporary];
  if (shown.some((place) => isWithin(executable, place))) return null;
  return unenforceable(
    `Cannot run "${executable}" in a sandbox: it is not shown there, expected a file of the system, the workspace or a read-only path`,
    'Add the directory of the program to the read-only paths of the tool.',
  );
}
