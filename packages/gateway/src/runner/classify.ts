import { readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import type { ExecutableKind } from '../core/process.ts';
import { orElse } from '../core/result.ts';
import {
  type Executable,
  type ExecutableScope,
  type FileDigests,
  type OpenedExecutable,
  openExecutable,
  resolveExecutable,
} from './executable.ts';
import { importedNames } from './imported-names.ts';
import {
  KINDS_BY_POWER,
  LAUNCHING_OPTIONS,
  LINKER_DIRECTORIES,
  LINKER_NAME,
  MULTI_CALL,
  PROGRAM_KINDS,
  STARTING_IMPORTS,
  STARTS_NOTHING,
} from './interpreters.table.ts';
import { interpreterLine } from './judged-files.ts';

/*
 * What kind of program a command is. This module refuses none of them: the kind is a fact for the policies, which
 * decide who may run an interpreter in which tier. Other names, links, copies and the first line of a script are
 * recognised; a copy with one byte changed, or an interpreter of the caller's own, is not.
 */

type ExecutableFormat = 'elf' | 'mach-o' | 'script' | 'other';

export type Classification = {
  readonly kind: ExecutableKind;
  readonly format: ExecutableFormat;
  /** The resolved program that reads a script; null for a program that the kernel runs itself. */
  readonly interpreter: string | null;
};

export type ClassifyDeps = { readonly known: KnownPrograms; readonly digests: FileDigests };

const MACH_O = new Set(['feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe']);

/** Judges a program by the names it has, by its content, by its twins, and by what the arguments make it do. */
export function classify(
  executable: Executable,
  args: readonly string[],
  scope: ExecutableScope,
  { interpreters, ...deps }: ClassifyDeps & { readonly interpreters: readonly Executable[] },
): Classification {
  const format = formatOf(executable.head);
  const kinds: ExecutableKind[] = [kindOfFile(executable, deps.known)];
  if (startsByOption(executable, args)) kinds.push('launcher');
  // What the kernel cannot run by itself is run by a handler that the administrator has set up.
  if (format === 'other') kinds.push('interpreter');
  if (format !== 'script') return { kind: strongest(kinds), format, interpreter: null };
  const runners = runnersOf([executable, ...interpreters], scope, deps);
  // A script does what its author wrote in the language of its interpreter, so it counts as an interpreter too.
  kinds.push('interpreter', ...runners.map((runner) => kindOfFile(runner, deps.known)));
  return { kind: strongest(kinds), format, interpreter: runners.at(-1)?.path ?? null };
}

function strongest(kinds: readonly ExecutableKind[]): ExecutableKind {
  return KINDS_BY_POWER.findLast((kind) => kinds.includes(kind)) ?? 'shell';
}

function kindOfFile(executable: Executable, known: KnownPrograms): ExecutableKind {
  const called = basename(executable.argv0);
  const names = [basename(executable.path), ...known.twinsOf(executable).map(({ name }) => name)];
  const multi = names.map(baseName).find((name) => MULTI_CALL.has(name));
  // One file is many programs; the name it is called by decides, unless that leaves the choice to the arguments.
  if (multi !== undefined && !called.startsWith(multi)) return kindOfName(called);
  return strongest([called, basename(executable.foundAt), ...names].map(kindOfName));
}

function formatOf(head: Uint8Array): ExecutableFormat {
  const magic = Buffer.from(head.subarray(0, 4));
  if (magic.toString('latin1') === '\x7fELF') return 'elf';
  if (magic.toString('latin1', 0, 2) === '#!') return 'script';
  return MACH_O.has(magic.toString('hex')) ? 'mach-o' : 'other';
}

/** The programs that a script leads to, one after the other; `env NAME` leads on to NAME. */
function runnersOf(
  [script, ...interpreters]: readonly Executable[],
  scope: ExecutableScope,
  deps: ClassifyDeps,
): readonly Executable[] {
  return interpreters.flatMap((runner, index) => {
    const before = index === 0 ? script : interpreters[index - 1];
    const [, argument = ''] = before === undefined ? [] : (interpreterLine(before.head) ?? []);
    const next = baseName(basename(runner.path)) === 'env' ? nameAfterEnv(argument.split(/[ \t]+/)) : null;
    const named = next === null ? null : find(next, scope, deps);
    return named === null ? [runner] : [runner, named];
  });
}

function find(program: string, scope: ExecutableScope, { digests }: ClassifyDeps): Executable | null {
  try {
    return resolveExecutable(program, { ...scope, allowedExecutables: 'any' }, digests);
  } catch (error) {
    if (error instanceof CodedError) return null;
    throw error;
  }
}

/** The first token after `env` that is neither an option nor an assignment. */
function nameAfterEnv(tokens: readonly string[]): string | null {
  return tokens.find((token) => token !== '' && !token.startsWith('-') && !token.includes('=')) ?? null;
}

/** Whether an argument makes an otherwise plain program start another one. */
function startsByOption(executable: Executable, args: readonly string[]): boolean {
  const called = [basename(executable.argv0), basename(executable.path)];
  const names = new Set(called.flatMap((name) => [name, plainName(name)]));
  return [...names].some((name) => {
    const options = Object.hasOwn(LAUNCHING_OPTIONS, name) ? (LAUNCHING_OPTIONS[name] ?? []) : [];
    const tokens = tokensOf(name, basename(executable.argv0), args);
    if (options.length === 0) return false;
    return tokens.some((token, i) => {
      const rest = `${tokens.slice(i).join('\0')}\0`;
      return options.some((option) => isOption(option, token, rest));
    });
  });
}

/** The arguments as the options of a program are read. */
function tokensOf(name: string, called: string, args: readonly string[]): readonly string[] {
  // The first token of tar is a bundle of letters even without its dash.
  if (name === 'tar') return args.map((arg, i) => (i === 0 && !arg.startsWith('-') ? `-${arg}` : arg));
  // git that is called `git-bisect` runs its subcommand `bisect`.
  if (name === 'git' && called.startsWith('git-')) return [called.slice('git-'.length), ...args];
  return args;
}

/**
 * Whether a program of the system can start others in a way that no table describes: it imports what does so, or its
 * imports cannot be read. One file that is many programs is judged by its name alone.
 */
export function startsUnseen({ path }: Executable): boolean {
  const name = basename(path);
  const names = [name, plainName(name), baseName(name)];
  if (names.some((each) => MULTI_CALL.has(each) || STARTS_NOTHING.has(each))) return false;
  if (names.some((each) => Object.hasOwn(LAUNCHING_OPTIONS, each))) return false;
  const imports = importedNames(path);
  return imports === null || [...imports].some((each) => STARTING_IMPORTS.test(each));
}

/** `x86_64-linux-gnu-gcc-12` is gcc. */
function plainName(name: string): string {
  return name.replace(/^[a-z0-9_]+-[a-z0-9_]+-[a-z0-9]+-/, '').replace(/-?\d+(?:\.\d+)*$/, '');
}

function isOption(option: string | RegExp, token: string, rest: string): boolean {
  if (typeof option !== 'string') return option.test(rest);
  if (option.startsWith('--')) {
    const name = token.split('=', 1)[0] ?? '';
    return name.length > 2 && option.startsWith(name);
  }
  const isLetter = option.length === 2 && option.startsWith('-');
  return isLetter ? new RegExp(`^-[A-Za-z]*${option.charAt(1)}`).test(token) : token.startsWith(option);
}

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
  // Every name of the system is asked for: most have no version.
  if (PROGRAM_KINDS.has(lower) || !/\d/.test(lower)) return lower;
  const unversioned = lower.replace(
    /[-_.]?v?\d+(?:\.\d+)*[a-z]?(?:[-_.](?:dbg|debug|static|minimal|config|full))?$/,
    '',
  );
  return unversioned === '' ? lower : unversioned;
}

/** What a program of that name does with its arguments. */
export function kindOfName(name: string): ExecutableKind {
  if (LINKER_NAME.test(name)) return 'launcher';
  // A cross toolchain or a distribution puts a prefix before the name.
  const bare = name.replace(/^[a-z0-9_]+-[a-z0-9_]+-[a-z0-9]+-/, '');
  const kind = PROGRAM_KINDS.get(baseName(name));
  return kind ?? (bare === name ? 'plain' : (PROGRAM_KINDS.get(baseName(bare)) ?? 'plain'));
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
      // Gone or unreadable since it was listed: then no copy of it can be recognised.
      if (error instanceof CodedError) return null;
      throw error;
    }
  }

  #refresh(): void {
    const stamps = this.#directories.map(stampOf);
    const stamp = stamps.join(' ');
    if (stamp === this.#stamp) return;
    // Many systems have /bin, /sbin and /lib as links into /usr: each directory is listed once.
    this.#known = this.#directories.filter((_, i) => stamps.indexOf(stamps[i] ?? '') === i).flatMap(list);
    this.#stamp = stamp;
  }
}

function stampOf(directory: string): string {
  const stats = orElse(() => statSync(directory, { bigint: true }), null);
  return stats === null ? '-' : `${stats.dev}:${stats.ino}:${stats.mtimeNs}`;
}

function list(directory: string): readonly Known[] {
  const look = (name: string): Known[] => {
    const path = realpathSync.native(join(directory, name));
    const stats = statSync(path, { bigint: true });
    if (!stats.isFile()) return [];
    return [{ path, name, dev: stats.dev, ino: stats.ino, sizeBytes: stats.size }];
  };
  const names = orElse(() => readdirSync(directory), []).filter((name) => kindOfName(name) !== 'plain');
  // A dangling link is not a program.
  const known = names.flatMap((name) => orElse(() => look(name), []));
  return known.filter(({ name, path }) => !isApplet(name, path));
}

/** `sh` that is a link to busybox: the file is many programs, and only the name `busybox` identifies it. */
function isApplet(name: string, path: string): boolean {
  const file = baseName(path.slice(path.lastIndexOf('/') + 1));
  return MULTI_CALL.has(file) && baseName(name) !== file;
}
