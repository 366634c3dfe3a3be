import { posix } from 'node:path';
import type { JudgedFile, ProcessTerms } from '../../core/process.ts';

/** Where a sandbox shows the files of a command. */
type Places = {
  readonly inside: (path: string) => string;
  /** A directory of the run alone for copies of scripts. Null: the launcher makes one, where it can. */
  readonly copies: string | null;
};

/** Where the launcher makes a directory of the run alone. */
const OWN_COPIES = '/proc/driver';

/** No file has these numbers. */
const NO_FILE = '0:0:0:0:0:0:0';

type Command = {
  readonly held: readonly string[];
  readonly argv: readonly string[];
  /** What is executed: the last file, or an interpreter that could not be judged. */
  readonly file: string;
  readonly isOpen: boolean;
};

/**
 * The launcher's arguments for the command: the files that it holds, what is executed, and the arguments of that. A
 * script is started as the kernel would start it, by what reads it. Paths are those in the sandbox.
 */
export function commandWords(
  { executable, files, argv }: Pick<ProcessTerms, 'executable' | 'files' | 'argv'>,
  places: Places = { inside: (path) => path, copies: null },
): readonly string[] {
  const first: Command = { held: [], argv, file: places.inside(executable), isOpen: false };
  const { held, file, isOpen, ...command } = files.reduce((so, each) => addFile(so, each, places), first);
  const hasCopies = places.copies !== null && files.some(isCopiedScript);
  // Boundary: an interpreter that could not be judged is not executed, should it appear in the meantime.
  const nothing = isOpen ? [`same=${NO_FILE}:${file}`] : [];
  const where = hasCopies ? [`copies=${places.copies}`] : [];
  return [...where, ...held, ...nothing, 'facts=1', '--', file, ...command.argv];
}

/** A directory as the launcher's argument: it uses the one that was judged, or nothing starts. */
export function judgedWord(
  key: 'cwd' | 'rw',
  { directories }: Pick<ProcessTerms, 'directories'>,
  path: string,
): string {
  if (directories === null) return `${key}=${path}`;
  return `${key}=${key === 'cwd' ? directories.cwd : directories.workspace}:${path}`;
}

/** Each copy is in a directory with the number of its argument. */
function addFile({ held, argv }: Command, judged: JudgedFile, { inside, copies }: Places): Command {
  const path = inside(judged.path);
  const [interpreter] = judged.interpreter;
  const word = heldWord(judged, path);
  const all = word === null ? held : [...held, word];
  if (interpreter === undefined) return { held: all, argv, file: path, isOpen: false };
  const copy = `${copies ?? OWN_COPIES}/${held.length}/${posix.basename(path)}`;
  const script = isCopiedScript(judged) ? copy : path;
  const read = [...judged.interpreter, script, ...argv.slice(1)];
  return { held: all, argv: read, file: posix.resolve('/', interpreter), isOpen: true };
}

/** A script that is read from a copy of its own. */
export function isCopiedScript({ identity, isPinned, interpreter }: JudgedFile): boolean {
  return identity === null && isPinned && interpreter.length > 0;
}

function heldWord(
  { identity, isPinned, interpreter, sizeBytes, sha256 }: JudgedFile,
  path: string,
): string | null {
  if (identity !== null) return `same=${identity}:${path}`;
  if (!isPinned) return null;
  return `${interpreter.length > 0 ? 'script' : 'program'}=${sizeBytes}:${sha256}:${path}`;
}
