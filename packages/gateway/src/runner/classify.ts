import { basename, isAbsolute } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import type { FileDigests } from './file-digests.ts';
import { KINDS_BY_POWER, LAUNCHING_OPTIONS, MULTI_CALL, type ProgramKind } from './interpreters.table.ts';
import { baseName, type KnownPrograms, kindOfName } from './known-programs.ts';
import { type Executable, type ExecutableScope, resolveExecutable } from './resolve-executable.ts';

/*
 * What kind of program a command is. This room refuses none of them: the kind is a fact for the policies, which decide
 * who may run an interpreter in which tier. Names, links, copies and the first line of a script are seen through; a
 * copy with one byte changed, or an interpreter of the caller's own, is not.
 */

export type Format = 'elf' | 'mach-o' | 'script' | 'other';

export type Classification = {
  readonly kind: ProgramKind;
  readonly format: Format;
  /** The resolved program that reads a script; null for a program that the kernel runs itself. */
  readonly interpreter: string | null;
};

export type ClassifyDeps = { readonly known: KnownPrograms; readonly digests: FileDigests };

/** As deep as the kernel follows scripts that are run by scripts. */
const MAX_SCRIPTS = 4;
const MACH_O = new Set(['feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe']);

/** Judges a program by the names it has, by its content, by its twins, and by what the arguments make it do. */
export function classify(
  executable: Executable,
  args: readonly string[],
  scope: ExecutableScope,
  deps: ClassifyDeps,
): Classification {
  const format = formatOf(executable.head);
  const kinds: ProgramKind[] = [kindOfFile(executable, deps.known)];
  if (startsByOption(executable, args)) kinds.push('launcher');
  // What the kernel cannot run by itself is run by something that the administrator has set up for it.
  if (format === 'other') kinds.push('interpreter');
  if (format !== 'script') return { kind: strongest(kinds), format, interpreter: null };
  const runners = runnersOf(executable, scope, deps);
  // A script does what its author wrote in the language of its interpreter, so it is no less than that.
  kinds.push('interpreter', ...runners.map((runner) => kindOfFile(runner, deps.known)));
  return { kind: strongest(kinds), format, interpreter: runners.at(-1)?.path ?? null };
}

function strongest(kinds: readonly ProgramKind[]): ProgramKind {
  return KINDS_BY_POWER.findLast((kind) => kinds.includes(kind)) ?? 'shell';
}

function kindOfFile(executable: Executable, known: KnownPrograms): ProgramKind {
  const called = basename(executable.argv0);
  const names = [basename(executable.path), ...known.twinsOf(executable).map(({ name }) => name)];
  const multi = names.map(baseName).find((name) => MULTI_CALL.has(name));
  // One file is many programs; the name it is called by decides, unless that leaves the choice to the arguments.
  if (multi !== undefined && !called.startsWith(multi)) return kindOfName(called);
  return strongest([called, basename(executable.foundAt), ...names].map(kindOfName));
}

function formatOf(head: Uint8Array): Format {
  const magic = Buffer.from(head.subarray(0, 4));
  if (magic.toString('latin1') === '\x7fELF') return 'elf';
  if (magic.toString('latin1', 0, 2) === '#!') return 'script';
  return MACH_O.has(magic.toString('hex')) ? 'mach-o' : 'other';
}

/** The programs that a script leads to, one after the other; `env NAME` leads on to NAME. */
function runnersOf(script: Executable, scope: ExecutableScope, deps: ClassifyDeps): readonly Executable[] {
  const runners: Executable[] = [];
  let current: Executable | null = script;
  for (let depth = 0; current !== null && depth < MAX_SCRIPTS; depth++) {
    const words = shebangOf(current.head);
    if (words === null) break;
    const [program = '', ...rest] = words;
    const runner = find(program, scope, deps);
    if (runner !== null) runners.push(runner);
    const next = runner !== null && baseName(basename(runner.path)) === 'env' ? nameAfterEnv(rest) : null;
    const named = next === null ? null : find(next, scope, deps);
    if (named !== null) runners.push(named);
    current = runner !== null && formatOf(runner.head) === 'script' ? runner : null;
  }
  return runners;
}

function find(program: string, scope: ExecutableScope, { digests }: ClassifyDeps): Executable | null {
  try {
    return resolveExecutable(program, { ...scope, allowedExecutables: 'any' }, digests);
  } catch (error) {
    // A script whose interpreter is not there does not start; what it is stays an interpreter.
    if (error instanceof CodedError) return null;
    throw error;
  }
}

/** The words of a first line `#!`; null where the kernel would not take it for one. */
export function shebangOf(head: Uint8Array): readonly string[] | null {
  const text = Buffer.from(head).toString('latin1');
  if (!text.startsWith('#!')) return null;
  const [line = ''] = text.slice(2).split(/[\n\0]/);
  const words = line.trim().split(/[ \t]+/);
  const [program = ''] = words;
  return isAbsolute(program) || program.includes('/') ? words : null;
}

/** The first word behind `env` that is neither an option nor an assignment. */
function nameAfterEnv(words: readonly string[]): string | null {
  return words.find((word) => !word.startsWith('-') && !word.includes('=')) ?? null;
}

/** Tells whether an argument makes an otherwise plain program start another one. */
function startsByOption(executable: Executable, args: readonly string[]): boolean {
  const names = new Set([basename(executable.argv0), basename(executable.path)].map(plainName));
  return [...names].some((name) => {
    const options = Object.hasOwn(LAUNCHING_OPTIONS, name) ? (LAUNCHING_OPTIONS[name] ?? []) : [];
    // The first word of tar is a bundle of letters even without its dash.
    const words =
      name === 'tar' ? args.map((arg, i) => (i === 0 && !arg.startsWith('-') ? `-${arg}` : arg)) : args;
    return words.some((word, i) => options.some((option) => isOption(option, word, words[i + 1] ?? '')));
  });
}

/** `x86_64-linux-gnu-gcc-12` is gcc. */
function plainName(name: string): string {
  return name.replace(/^[a-z0-9_]+-[a-z0-9_]+-[a-z0-9]+-/, '').replace(/-?\d+(?:\.\d+)*$/, '');
}

function isOption(option: string | RegExp, word: string, next: string): boolean {
  if (typeof option !== 'string') return option.test(`${word}\0${next}`);
  if (option.startsWith('--')) {
    const name = word.split('=', 1)[0] ?? '';
    return name.length > 2 && option.startsWith(name);
  }
  const isLetter = option.length === 2 && option.startsWith('-');
  return isLetter ? new RegExp(`^-[A-Za-z]*${option.charAt(1)}`).test(word) : word.startsWith(option);
}
