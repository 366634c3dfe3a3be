/**
 * The last look at the terms of a run before they become words of a command line. The terms come checked; a plan looks
 * again, because here a stray NUL is a new option, a number that is none is no limit, and a path that is not normal
 * is another path.
 */
import { posix } from 'node:path';
import type { AsRoot, ProcessLimits, ProcessTerms } from '../../core/process.ts';
import { isWithin } from '../../core/within.ts';
import { type PlanRefusal, unenforceable } from './plan.ts';

const REPORT = 'Report it: the terms of a run are checked before they come here.';
const INNER_WORKSPACE = 'Choose a directory of its own for the work, such as a project in a home directory.';

/** Directories that hold a machine together; a workspace may lie below them, never around them. */
const NEVER_AROUND = [
  ...['/usr', '/etc', '/proc', '/sys', '/dev', '/boot', '/var/lib'],
  ...['/System', '/Library', '/private/etc', '/private/var'],
];

/** Gives null when every word of the terms is what it claims to be. */
export function checkTerms(terms: ProcessTerms): PlanRefusal | null {
  return (
    checkWords(terms) ??
    checkPaths(terms) ??
    checkWorkspace(terms) ??
    checkEnvironment(terms.env) ??
    checkLimits(terms.limits)
  );
}

/** Gives null when the ids that a root gateway hands to the run are those of an ordinary user. */
export function checkIdentity(asRoot: AsRoot | null): PlanRefusal | null {
  if (asRoot === null) return null;
  const { uid, gid, owner } = asRoot;
  const areIds = [uid, gid, owner.uid, owner.gid].every((id) => Number.isSafeInteger(id) && id >= 0);
  // Boundary: the kernel lets host uid 0 write its settings whatever namespaces and capabilities say.
  if (areIds && uid > 0 && gid > 0) return null;
  return unenforceable(
    `Cannot plan the run: it would run as ${uid}:${gid}, expected a user and a group other than 0`,
    'Give the gateway an ordinary user for the runs, or start it as one.',
  );
}

/** Gives null when a filter is whole instructions; a run without a filter is not planned. */
export function checkFilter(seccomp: Uint8Array): PlanRefusal | null {
  const instructionBytes = 8;
  if (seccomp.length > 0 && seccomp.length % instructionBytes === 0) return null;
  return unenforceable(
    `Cannot plan the run: the system call filter has ${seccomp.length} bytes, expected whole instructions of 8`,
    'Use a machine with an x64 or arm64 processor.',
  );
}

function checkWords(terms: ProcessTerms): PlanRefusal | null {
  const { executable, argv, workspace, cwd, env, readOnly, protectedPaths } = terms;
  const words = [executable, workspace, cwd, ...argv, ...readOnly, ...protectedPaths];
  // Boundary: options reach bubblewrap between NULs, so a NUL in a word would begin an option.
  const torn = [...words, ...Object.entries(env).flat()].find((word) => word.includes('\0'));
  if (torn !== undefined) {
    return unenforceable(
      `Cannot plan the run: ${JSON.stringify(torn)} holds a NUL, expected arguments without one`,
      REPORT,
    );
  }
  if (argv.length > 0) return null;
  return unenforceable('Cannot plan the run: its argv is empty, expected the name of the command', REPORT);
}

function checkPaths(terms: ProcessTerms): PlanRefusal | null {
  const { executable, workspace, cwd, readOnly, protectedPaths } = terms;
  const absolute = [executable, workspace, cwd, ...readOnly];
  // Boundary: ".." and doubled slashes would pass a comparison of texts and reach another place.
  const odd = absolute.find((path) => !path.startsWith('/') || !isNormal(path) || path.startsWith('//'));
  if (odd !== undefined) {
    return unenforceable(
      `Cannot plan the run: the path "${odd}" is not canonical, expected one from the root without . and ..`,
      REPORT,
    );
  }
  const outside = protectedPaths.find((path) => !isNormal(path) || /^(\/|\.$|\.\.(\/|$))/.test(path));
  if (outside === undefined) return null;
  return unenforceable(
    `Cannot protect "${outside}": it is not a path inside the workspace, expected one relative to it without . and ..`,
    'Correct the protected path.',
  );
}

function checkWorkspace(terms: ProcessTerms): PlanRefusal | null {
  const { workspace, cwd } = terms;
  // Boundary: a workspace is written by the run, so it must not hold the system itself.
  const around = NEVER_AROUND.find((place) => isWithin(place, workspace));
  if (around !== undefined) {
    return unenforceable(
      `Cannot use the workspace "${workspace}": it holds "${around}", expected a directory that holds no part of the system`,
      INNER_WORKSPACE,
    );
  }
  if (isWithin(cwd, workspace)) return null;
  return unenforceable(`Cannot start in "${cwd}": it is outside, expected a path in "${workspace}"`, REPORT);
}

function checkEnvironment(env: ProcessTerms['env']): PlanRefusal | null {
  const odd = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (odd === undefined) return null;
  return unenforceable(
    `Cannot set the variable ${JSON.stringify(odd)}: it is not a valid name, expected letters, digits and _`,
    'Correct the name of the variable.',
  );
}

function checkLimits(limits: ProcessLimits): PlanRefusal | null {
  // Boundary: a limit that is no whole number above zero must not become "no limit".
  const odd = Object.entries(limits).find(([, value]) => !Number.isSafeInteger(value) || value <= 0);
  if (odd === undefined) return null;
  const [name, value] = odd;
  return unenforceable(
    `Cannot hold the limit ${name}: it is ${value}, expected a whole number above 0`,
    REPORT,
  );
}

function isNormal(path: string): boolean {
  return path !== '' && posix.normalize(path) === path && (path === '/' || !path.endsWith('/'));
}
