/*
 * The guard of tiers that confine nothing: what a program starts there may do all that the user may, so a program that
 * starts others, or runs code that it is given, needs the consent of the operator. It is judged as a file: by every
 * name that it has, its content, its twins among the installed programs, its first line, its arguments, the functions that
 * it imports, and by whether commands could have written it. What a plain program of the system reads from a file of its own (the configuration of
 * git) is not seen; docs/sandbox.md lists what this does not hold.
 */
import type { JudgedFile } from '../core/process.ts';
import { type Classification, startsUnseen } from './classify.ts';
import { type Executable, type ExecutableScope, isListed } from './executable.ts';
import { canBeWritten } from './judged-files.ts';
import type { RunnerSettings } from './settings.ts';

type Guarded = {
  readonly executable: Executable;
  /** Of a script: what reads it, one after the other. */
  readonly interpreters: readonly Executable[];
  readonly judged: readonly JudgedFile[];
  readonly classified: Classification;
};

const REASONS = {
  shell: 'runs what a shell runs',
  interpreter: 'runs code',
  launcher: 'starts other programs',
  unseen: 'can start other programs',
} as const;

/** Why the command needs consent, as it follows the name of its program; null where it does not. */
export function guardOf(
  { executable, interpreters, judged, classified }: Guarded,
  scope: ExecutableScope & Pick<RunnerSettings, 'interpreters'>,
): string | null {
  const isAllowed = (program: Executable) => isListed(program, scope.interpreters, scope);
  if (isAllowed(executable)) return null;
  // A script does what its interpreter lets it do.
  if (interpreters.length > 0 && interpreters.every(isAllowed)) return null;
  const { kind } = classified;
  if (kind !== 'plain') return REASONS[kind];
  // Boundary: a file that commands can write is whatever they wrote, a changed copy of a shell for example.
  const isOfSystem = executable.zone === 'system' || (judged[0]?.identity ?? null) !== null;
  if (!isOfSystem || canBeWritten(executable)) return 'can be written by commands';
  // Boundary: a program that no table knows is judged by what it can do, as names are never all known.
  return startsUnseen(executable) ? REASONS.unseen : null;
}
