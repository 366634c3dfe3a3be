import { opendirSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import type { FileDigests } from './file-digests.ts';
import {
  LINKER_DIRECTORIES,
  LINKER_NAME,
  MULTI_CALL,
  PROGRAM_KINDS,
  type ProgramKind,
} from './interpreters.table.ts';
import { type OpenedExecutable, openExecutable } from './open-executable.ts';

type Known = {
  readonly path: string;
  readonly name: string;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly sizeBytes: bigint;
};

/** A name as the table has it: in lower case, without version and without `.exe`. */
export function baseName(name: string): string {
  const lower = name.toLowerCase().replace(/\.exe$/, '');
  if (PROGRAM_KINDS.has(lower)) return lower;
  const unversioned = lower.replace(
    /[-_.]?v?\d+(?:\.\d+)*[a-z]?(?:[-_.](?:dbg|debug|static|minimal|config|full))?$/,
    '',
  );
  return unversioned === '' ? lower : unversioned;
}

/** What a program of that name does with its arguments. */
export function kindOfName(name: string): ProgramKind {
  if (LINKER_NAME.test(name)) return 'launcher';
  // A cross toolchain or a distribution puts its own words before the name.
  const bare = baseName(name.replace(/^[a-z0-9_]+-[a-z0-9_]+-[a-z0-9]+-/, ''));
  return PROGRAM_KINDS.get(baseName(name)) ?? PROGRAM_KINDS.get(bare) ?? 'plain';
}

/**
 * The shells, interpreters and launchers that are installed, so that a copy or a hard link under another name is
 * recognised. The directories are listed again when they change.
 */
export class KnownPrograms {
  readonly #directories: readonly string[];
  readonly #digests: FileDigests;
  #stamp = '';
  #known: readonly Known[] = [];

  constructor(searchPath: readonly string[], digests: FileDigests) {
    const directories = [...searchPath.filter(isAbsolute), '/usr/sbin', '/sbin', ...LINKER_DIRECTORIES];
    this.#directories = directories;
    this.#digests = digests;
  }

  /** The installed programs that are the same file, or have the same content; by path. */
  twinsOf({ facts, sha256 }: OpenedExecutable): readonly { readonly path: string; readonly name: string }[] {
    this.#refresh();
    return this.#known.filter((known) => {
      if (known.dev === facts.dev && known.ino === facts.ino) return true;
      return known.sizeBytes === facts.sizeBytes && this.#digestOf(known.path) === sha256;
    });
  }

  #digestOf(path: string): string | null {
    try {
      return openExecutable(path, this.#digests).sha256;
    } catch (error) {
      // Gone or unreadable since it was listed; then nobody has a copy from now on.
      if (error instanceof CodedError) return null;
      throw error;
    }
  }

  #refresh(): void {
    const stamp = this.#directories.map(stampOf).join(' ');
    if (stamp === this.#stamp) return;
    this.#known = this.#directories.flatMap(list);
    this.#stamp = stamp;
  }
}

function stampOf(directory: string): string {
  try {
    const { dev, ino, mtimeNs } = statSync(directory, { bigint: true });
    return `${dev}:${ino}:${mtimeNs}`;
  } catch {
    return '-';
  }
}

function list(directory: string): readonly Known[] {
  const known: Known[] = [];
  for (const name of namesIn(directory)) {
    if (kindOfName(name) === 'plain') continue;
    try {
      const path = realpathSync.native(join(directory, name));
      const stats = statSync(path, { bigint: true });
      if (stats.isFile()) known.push({ path, name, dev: stats.dev, ino: stats.ino, sizeBytes: stats.size });
    } catch {
      // A dangling link is no program.
    }
  }
  return known.filter(({ name, path }) => !isApplet(name, path));
}

/** `sh` that is a link to busybox: the file is many programs, and only `busybox` stands for it. */
function isApplet(name: string, path: string): boolean {
  const file = baseName(path.slice(path.lastIndexOf('/') + 1));
  return MULTI_CALL.has(file) && baseName(name) !== file;
}

function namesIn(directory: string): readonly string[] {
  try {
    const names: string[] = [];
    const listing = opendirSync(directory);
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) names.push(entry.name);
    listing.closeSync();
    return names;
  } catch {
    return [];
  }
}
