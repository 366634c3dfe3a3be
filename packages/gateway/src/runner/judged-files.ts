import { accessSync, constants, lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { ancestorsOf, isWithin } from '../core/paths.ts';
import { INNER_WORKSPACE, type JudgedFile } from '../core/process.ts';
import { orElse } from '../core/result.ts';
import {
  type Executable,
  type ExecutableScope,
  type FileDigests,
  HEAD_BYTES,
  resolveExecutable,
} from './executable.ts';

/*
 * Which files a command consists of, and how certain each of them is. A program is one file. A script is read by the
 * interpreter of its first line, which can be a script itself; that line is read here, as the kernel would, from the
 * same open file as the digest, so that the kernel does not look for an interpreter once more.
 *
 * A file that only root can change is recognised again by its numbers. Any other one can be another at every moment,
 * even with the same numbers, since a write through shared memory need not change the times: only a copy has a digest.
 */

/** As many scripts that are run by scripts as are followed; the kernel follows five. */
const MAX_SCRIPTS = 4;

/** A program that others can change is copied for each run up to this size; a larger one only for a decision by it. */
const PINNED_UNASKED_BYTES = 8 * 1024 * 1024;

/** What reads a script, one after the other; shorter than it should be where one cannot be opened. */
export function interpretersOf(
  script: Executable,
  scope: ExecutableScope,
  digests: FileDigests,
): readonly Executable[] {
  const found: Executable[] = [];
  let line = interpreterLine(script.head);
  while (line !== null && found.length < MAX_SCRIPTS) {
    const [name = ''] = line;
    const next = openInterpreter(name, scope, digests);
    if (next === null) break;
    found.push(next);
    line = interpreterLine(next.head);
  }
  return found;
}

function openInterpreter(name: string, scope: ExecutableScope, digests: FileDigests): Executable | null {
  const path = resolve(scope.cwd, name);
  // In a jail the workspace can be at another path, and scripts that were made there name that one.
  const isInner = isWithin(path, INNER_WORKSPACE) && !orElse(() => lstatSync(path).isFile(), false);
  const outer = isInner ? `${scope.workspace}${path.slice(INNER_WORKSPACE.length)}` : path;
  try {
    // Whether a script may run is decided by the script; where its interpreter is does not matter to that.
    return resolveExecutable(outer, { ...scope, allowedExecutables: [outer] }, digests);
  } catch (error) {
    // A script whose interpreter is missing does not start; it still counts as an interpreter.
    if (error instanceof CodedError) return null;
    throw error;
  }
}

/** What a first line `#!` puts before the path of the script; null where the kernel would not take it for one. */
export function interpreterLine(head: Uint8Array): readonly string[] | null {
  const text = Buffer.from(head).toString('utf8');
  if (!text.startsWith('#!')) return null;
  const [line = ''] = text.slice(2).split('\n');
  const [, name = '', argument = ''] =
    /^[ \t]*([^ \t\0]+)(?:[ \t]+([^\0]*?))?[ \t]*(?:\0|$)/s.exec(line) ?? [];
  // Boundary: a name that was cut off would be that of another file.
  const isCut = !text.includes('\n') && head.length >= HEAD_BYTES && line.endsWith(name);
  if (name === '' || isCut) return null;
  return argument === '' ? [name] : [name, argument];
}

/** The files of a command, as they were judged. */
export function judgedFiles(
  executable: Executable,
  interpreters: readonly Executable[],
  { workspaceRoots, workspace }: Pick<ExecutableScope, 'workspaceRoots' | 'workspace'>,
  digests: FileDigests,
): readonly JudgedFile[] {
  return [executable, ...interpreters].map((file) => {
    const { path, sha256, facts } = file;
    const sizeBytes = Number(facts.sizeBytes);
    const interpreter = interpreterLine(file.head) ?? [];
    // Whatever handles another format finds it by its path.
    if (interpreter.length === 0 && !isElf(file.head))
      return { path, sha256, sizeBytes, interpreter, identity: null, isPinned: false };
    const isShared = [workspace, ...workspaceRoots].some((root) => isWithin(path, root));
    const identity = !isShared && isOfRootAlone(file, digests) ? identityOf(file) : null;
    const isPinned = identity === null && interpreter.length === 0 && sizeBytes <= PINNED_UNASKED_BYTES;
    return { path, sha256, sizeBytes, interpreter, identity, isPinned };
  });
}

function isElf(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(0, 4)).toString('latin1') === '\x7fELF';
}

/** Device, inode, size and both times, as the launcher compares them. */
function identityOf({ facts: { dev, ino, sizeBytes, mtimeNs, ctimeNs } }: Executable): string {
  const times = [mtimeNs, ctimeNs].flatMap((time) => [time / NS_PER_S, time % NS_PER_S]);
  return [dev, ino, sizeBytes, ...times].join(':');
}

const NS_PER_S = 1_000_000_000n;
const SHARED_WRITE = 0o022;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** Whether no one but root can change this file, or put another one in its place. */
function isOfRootAlone({ path, facts }: Executable, digests: FileDigests): boolean {
  // A file that was just written can be written again without a change of its times.
  if (facts.uid !== 0 || (facts.mode & SHARED_WRITE) !== 0 || digests.isFresh(facts)) return false;
  return ['/', ...ancestorsOf(path)].every(isDirectoryOfRoot);
}

function isDirectoryOfRoot(path: string): boolean {
  const stats = orElse(() => lstatSync(path), null);
  if (stats === null || stats.uid !== 0 || (stats.mode & OTHERS_WRITE) !== 0) return false;
  // Boundary: commands of an ordinary user have its groups and what access lists give it. Those of root have neither.
  return process.getuid?.() === 0 || !isWritable(path);
}

/** Whether commands can change this file or put another one in its place, who run as the user of this process or as no one. */
export function canBeWritten({ path, facts }: Pick<Executable, 'path' | 'facts'>): boolean {
  const isOpen = [facts.mode, ...ancestorsOf(path).map(modeOf)].some((mode) => (mode & OTHERS_WRITE) !== 0);
  const user = process.getuid?.();
  if (isOpen || user === 0) return isOpen;
  return facts.uid === user || [path, ...ancestorsOf(path)].some(isWritable);
}

function modeOf(directory: string): number {
  const stats = orElse(() => lstatSync(directory), null);
  return stats === null || (stats.mode & STICKY) !== 0 ? 0 : stats.mode;
}

function isWritable(path: string): boolean {
  return orElse(() => accessSync(path, constants.W_OK) === undefined, false);
}
