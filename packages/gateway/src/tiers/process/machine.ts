/** What this machine has for commands: programs, namespaces, system directories. Read once, without changes. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { matchesPattern } from '../../config/grammar.ts';
import { accept, orElse, type Result, reject } from '../../core/result.ts';
import type { HostPath } from '../c-bubblewrap/mounts.ts';
import type { Facts, Lack } from './tier.ts';

export type Program = { readonly path: string; readonly sha256: string };

/** A command that does nothing and exists on every system. */
export const HARMLESS = { file: '/bin/sh', argv: ['sh', '-c', ':'] } as const;

const NAMESPACES = ['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup'];
const EXECUTABLE = 0o111;
const SHARED_WRITE = 0o022;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** Our own namespaces by name, as the kernel's numbers. */
export function ownNamespaces(): Facts {
  const entries = NAMESPACES.map((name): [string, string] => {
    const [, number = ''] = /\[(\d+)\]/.exec(readlinkSync(`/proc/self/ns/${name}`)) ?? [];
    return [name, number];
  });
  return Object.fromEntries(entries);
}

/** What decides what the kernel lets this process do, and the boot until which that holds; null where it is not known. */
export function machineText(): string | null {
  const [boot, status] = ['sys/kernel/random/boot_id', 'self/status'].map((name) => textOf(`/proc/${name}`));
  if (boot == null || status == null) return null;
  const rights = status.match(/^(?:Uid|Gid|Groups|NoNewPrivs|Seccomp\w*|Cap\w+):.*$/gm);
  return JSON.stringify([boot, rights, textOf('/proc/self/attr/current'), ownNamespaces()]);
}

/** The first of the paths with a program that only its owner can change. No search path is used. */
export function findProgram(paths: readonly string[], missing: Lack): Result<Program, Lack> {
  for (const raw of paths) {
    const path = orElse(() => realpathSync.native(raw), null);
    if (path === null) continue;
    const weak = weakness(path);
    if (weak !== null) return reject(weak);
    return accept({ path, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') });
  }
  return reject(missing);
}

const ELF = '\x7fELF';

/** Whether a program is one by itself, and not a script for another. */
export function isBinary(path: string): boolean {
  return readFileSync(path).toString('latin1', 0, ELF.length) === ELF;
}

/** Differs when a file was replaced or written to; empty where it is gone. */
export function fileState(path: string): string {
  const read = () => {
    const { dev, ino, size, mode, uid, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mode, uid, mtimeNs, ctimeNs].join(':');
  };
  return orElse(read, '');
}

/** Why a file cannot be trusted to run a sandbox; null when it can. */
function weakness(path: string): Lack | null {
  const stats = statSync(path);
  if (!stats.isFile() || (stats.mode & EXECUTABLE) === 0)
    return { why: `"${path}" is not a program`, fix: 'Install the program again.' };
  const isOurs = stats.uid === 0 || stats.uid === process.getuid?.();
  // Boundary: a sandbox that another user can replace isolates nothing.
  if (!isOurs || (stats.mode & SHARED_WRITE) !== 0)
    return {
      why: `"${path}" can be changed by others`,
      fix: isOurs ? `chmod go-w ${path}` : `chown root ${path}; chmod go-w ${path}`,
    };
  const open = directoriesAbove(path).find((directory) => isOpenToAll(statSync(directory).mode));
  // Boundary: a user who can write to a directory can replace the files in it.
  if (open === undefined) return null;
  return { why: `"${path}" can be replaced by others in "${open}"`, fix: `chmod o-w ${open}` };
}

function isOpenToAll(mode: number): boolean {
  return (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0;
}

function directoriesAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [] : [above, ...directoriesAbove(above)];
}

/** Which of these paths exist, and the targets of those that are links. `*` matches any name or part of one. */
export function hostPaths(patterns: readonly string[]): readonly HostPath[] {
  const look = (path: string): HostPath[] => {
    const linkTo = lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
    // A dangling link counts as absent.
    return [{ path, linkTo, ...(statSync(path).isFile() ? { isFile: true } : {}) }];
  };
  return patterns.flatMap(expand).flatMap((path) => orElse(() => look(path), []));
}

/** The same for files that are shown to every command: those of root that all users can read. */
export function publicPaths(patterns: readonly string[]): readonly HostPath[] {
  const isPublic = ({ path }: HostPath) => {
    const { uid, mode } = statSync(path);
    return uid === 0 && (mode & OTHERS_READ) !== 0;
  };
  return hostPaths(patterns).filter(isPublic);
}

function expand(pattern: string): readonly string[] {
  const [, above = '', part = '', below = ''] = /^(.*?)\/([^/]*\*[^/]*)(.*)$/.exec(pattern) ?? [];
  if (part === '') return [pattern];
  const names = orElse(() => readdirSync(above), []).filter((name) => matchesPattern(part, name));
  return names.sort().flatMap((name) => expand(`${above}/${name}${below}`));
}

const OTHERS_READ = 0o004;
const OTHERS_ENTER = 0o001;

/** Whether a user who owns nothing on the path can reach this directory; what is gone cannot be reached. */
export function isInReachOfAll(path: string): boolean {
  const canEnter = (directory: string) => (statSync(directory).mode & OTHERS_ENTER) !== 0;
  return orElse(() => directoriesAbove(path).every(canEnter), false);
}

/** How many threads a user has now; the kernel counts them all against a limit on processes. */
export function threadsOf(uid: number): number {
  const threadsIn = (process: string) =>
    statSync(`/proc/${process}`).uid === uid ? readdirSync(`/proc/${process}/task`).length : 0;
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  // One that has ended since has none.
  return processes.reduce((sum, process) => sum + orElse(() => threadsIn(process), 0), 0);
}

/** The text of a small file; null where it does not exist. */
export function textOf(path: string): string | null {
  return orElse(() => readFileSync(path, 'utf8'), null);
}
