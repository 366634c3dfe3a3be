import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Digest } from '../core/digest.ts';
import { quote } from '../core/hostile-text.ts';
import { isWithin } from '../core/paths.ts';
import { orElse } from '../core/result.ts';
import type { RunnerSettings } from './settings.ts';
import { type FileFacts, factsFrom, type PathZone, zoneOf } from './workspace.ts';

/** The program of a command: which file runs, and under which name. */
export type Executable = OpenedExecutable & {
  /** The file that is executed, with all links resolved. */
  readonly path: string;
  /** The name that the program is started under: as requested, absolute when a path was given. */
  readonly argv0: string;
  /** Where the name or path was found, its directory canonical and its last part not followed. */
  readonly foundAt: string;
  readonly zone: PathZone;
};

export type ExecutableScope = Pick<
  RunnerSettings,
  'searchPath' | 'allowedExecutables' | 'readOnly' | 'workspaceRoots' | 'toolHomeWith'
> & {
  readonly cwd: string;
  readonly workspace: string;
};

/** Finds the program, and refuses one that is not allowed or that is outside the system and the workspace. */
export function resolveExecutable(command: string, scope: ExecutableScope, digests: FileDigests): Executable {
  const isPath = command.includes('/');
  const foundAt = isPath ? entryAt(resolve(scope.cwd, command)) : searchFor(command, scope);
  const path = foundAt === null ? null : realPathOf(foundAt);
  if (foundAt === null || path === null) throw missing(command, isPath, scope);
  const zone = zoneOf(path, scope);
  // Boundary: a name never finds a file in the workspace, not even through a link on the search path.
  if (!isPath && zone === 'workspace') {
    throw new CodedError(
      'runner/not-allowed',
      `Cannot run ${quote(command)}: on the search path it is a link into the workspace, expected a program outside it`,
      { remedy: `Give its path to run a file of the workspace, such as "./${command}".` },
    );
  }
  demandAllowed(command, { foundAt, path, zone }, scope);
  const argv0 = isPath ? resolve(scope.cwd, command) : command;
  return { ...openExecutable(path, digests), path, argv0, foundAt, zone };
}

/** The first file of that name on the search path; directories that are relative or in the workspace are skipped. */
export function searchFor(
  name: string,
  { searchPath, workspace }: Pick<ExecutableScope, 'searchPath' | 'workspace'>,
): string | null {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) return null;
  for (const directory of searchPath) {
    // Boundary: an empty or relative entry means the working directory, which the caller chose and filled.
    const real = isAbsolute(directory) ? realPathOf(directory) : null;
    if (real === null || isWithin(real, workspace)) continue;
    const candidate = join(real, name);
    if (isProgram(candidate)) return candidate;
  }
  return null;
}

function demandAllowed(
  command: string,
  found: Pick<Executable, 'foundAt' | 'path' | 'zone'>,
  scope: ExecutableScope,
): void {
  const { allowedExecutables } = scope;
  if (allowedExecutables === 'any') {
    if (found.zone !== 'outside') return;
    throw new CodedError(
      'runner/outside-workspace',
      `Cannot run ${quote(command)}: ${quote(found.path)} is outside the workspace and the system, expected a program inside`,
      {
        remedy: `Add ${quote(found.path)} to process.executables, or its directory to process.read_only, in palisade.toml.`,
      },
    );
  }
  if (isListed(found, allowedExecutables, scope)) return;
  throw new CodedError(
    'runner/not-allowed',
    `Cannot run ${quote(command)}: ${quote(found.path)} is not an allowed program, expected one of process.executables`,
    { remedy: `Add ${quote(found.path)} to process.executables in palisade.toml, or use another program.` },
  );
}

/** Boundary: files are compared and not names, or any file in the workspace could have the name of a listed one. */
export function isListed(
  found: Pick<Executable, 'foundAt' | 'path'>,
  listed: 'any' | readonly string[],
  scope: Pick<ExecutableScope, 'searchPath' | 'workspace'>,
): boolean {
  if (listed === 'any') return true;
  return listed.some((entry) => {
    const at = isAbsolute(entry) ? entryAt(entry) : searchFor(entry, scope);
    return at !== null && (at === found.foundAt || at === found.path);
  });
}

/** A path with its directory resolved and its last part as it is: the same entry has the same text. */
function entryAt(path: string): string | null {
  const directory = realPathOf(dirname(path));
  return directory === null ? null : join(directory, basename(path));
}

function isProgram(path: string): boolean {
  // No entry, a link loop, a name that is too long: nothing to run here.
  const stats = orElse(() => statSync(path), null);
  return stats?.isFile() === true && (stats.mode & 0o111) !== 0;
}

function realPathOf(path: string): string | null {
  return orElse(() => realpathSync.native(path), null);
}

function missing(command: string, isPath: boolean, scope: ExecutableScope): CodedError {
  const { searchPath, toolHomeWith } = scope;
  const is = isPath ? 'it does not exist' : `it is not in ${searchPath.join(', ')}`;
  const home = isPath ? null : toolHomeWith(command);
  const remedy = /\s/.test(command)
    ? 'Give the program alone, and each of its arguments separately: in `args`, or as a word of its own after --.'
    : isPath
      ? 'Give the path of an executable file, absolute or relative to the working directory.'
      : home !== null
        ? `It is in your home: allow it with process.tool_homes = ["${home}"] in palisade.toml, or for one command with \`palisade exec --tool-homes ${home}\`.`
        : 'Install it, give its path, or add its directory to process.search_path in palisade.toml.';
  return new CodedError('runner/not-found', `Cannot run ${quote(command)}: ${is}, expected a program`, {
    remedy,
  });
}

/** A program file that was opened once, and what was seen through that one descriptor. */
export type OpenedExecutable = {
  readonly facts: FileFacts;
  readonly sha256: Digest;
  /** As many bytes as the kernel reads to determine how to run it. */
  readonly head: Uint8Array;
};

/** The largest program that is digested before it runs; browsers and language runtimes stay below it. */
const MAX_EXECUTABLE_BYTES = 512n * 1024n * 1024n;
export const HEAD_BYTES = 256;

/** Opens a canonical path as a regular, executable file. Facts, head and digest are of the same file. */
export function openExecutable(path: string, digests: FileDigests): OpenedExecutable {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  let fd: number;
  try {
    // Boundary: a pipe does not block, a terminal does not become ours, and a link planted since is not followed.
    fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw notFound(path, `it cannot be opened (${error.code}), expected a readable file`);
  }
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (!stats.isFile()) throw notFound(path, 'it is a directory or a device, expected a regular file');
    const facts = factsFrom(path, stats);
    if ((facts.mode & 0o111) === 0) throw notFound(path, 'it is not executable, expected an executable file');
    if (facts.sizeBytes > MAX_EXECUTABLE_BYTES) {
      throw notFound(path, `it has ${facts.sizeBytes} bytes, expected at most ${MAX_EXECUTABLE_BYTES}`);
    }
    const head = Buffer.alloc(HEAD_BYTES);
    const count = readSync(fd, head, 0, HEAD_BYTES, 0);
    return { facts, head: head.subarray(0, count), sha256: digests.of(fd, facts) };
  } finally {
    closeSync(fd);
  }
}

function notFound(path: string, what: string): CodedError {
  return new CodedError('runner/not-found', `Cannot run ${quote(path)}: ${what}`);
}

const CHUNK_BYTES = 1024 * 1024;
const MAX_KEPT = 512;
/** A file written this recently can be written again without a change of its times. */
const FRESH_NS = 2_000_000_000n;

/** Digests of files, remembered for as long as device, inode, size and both times stay the same. */
export class FileDigests {
  readonly #kept = new Map<string, Digest>();
  readonly #clock: Pick<Clock, 'nowMs'>;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** The digest of the open file that these facts are of. It reads no further than the size in the facts. */
  of(fd: number, facts: FileFacts): Digest {
    const { dev, ino, sizeBytes, mtimeNs, ctimeNs } = facts;
    const key = [dev, ino, sizeBytes, mtimeNs, ctimeNs].join(':');
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const digest = digestFile(fd, Number(sizeBytes));
    if (!this.isFresh(facts)) this.#keep(key, digest);
    return digest;
  }

  /** Whether the file may be written again within what its times can tell apart. */
  isFresh({ ctimeNs }: Pick<FileFacts, 'ctimeNs'>): boolean {
    return BigInt(Math.floor(this.#clock.nowMs())) * 1_000_000n - ctimeNs <= FRESH_NS;
  }

  #keep(key: string, digest: Digest): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, digest);
  }
}

function digestFile(fd: number, sizeBytes: number): Digest {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK_BYTES, sizeBytes)));
  let at = 0;
  while (at < sizeBytes) {
    const count = readSync(fd, chunk, 0, Math.min(chunk.length, sizeBytes - at), at);
    if (count === 0) break;
    hash.update(chunk.subarray(0, count));
    at += count;
  }
  return hash.digest('hex') as Digest;
}
