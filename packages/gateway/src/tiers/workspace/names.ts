import { isUtf8 } from 'node:buffer';
import type { BigIntStats } from 'node:fs';
import { matchesPattern } from '../../config/grammar.ts';
import type { HeldDirectory } from './held-directory.ts';

/** Bytes that are shown unescaped: printable ASCII without the backslash. */
const PLAIN = /^[ -[\]-~]*$/;

/** Characters that a terminal or an editor would act on or hide: control, format, private and unassigned ones. */
const UNSHOWABLE = /[\\\p{C}\p{Zl}\p{Zp}]/gu;

/** The escaped form of the characters that HFS+ ignores in a name. */
const IGNORED_BY_HFS = /\\xe2\\x80\\x(?:8[c-f]|a[a-e])|\\xe2\\x81\\xa[a-f]|\\xef\\xbb\\xbf/g;

/**
 * The text of a name that may be any bytes: printable UTF-8 unchanged, every other byte and the backslash as `\xNN`. No
 * two names have the same text, and a text can safely be printed and put into JSON.
 */
export function nameText(bytes: Buffer): string {
  const raw = bytes.toString('latin1');
  if (PLAIN.test(raw)) return raw;
  // Boundary: a name never brings an escape sequence, a line break or a direction mark into a result.
  if (isUtf8(bytes))
    return bytes.toString('utf8').replace(UNSHOWABLE, (char) => escapeBytes(Buffer.from(char)));
  return raw.replace(/[^ -[\]-~]/g, (char) => escapeBytes(Buffer.from(char, 'latin1')));
}

function escapeBytes(bytes: Buffer): string {
  return bytes.toString('hex').replace(/../g, '\\x$&');
}

/** The name that a text was made of. */
export function nameBytes(text: string): Buffer {
  if (!text.includes('\\')) return Buffer.from(text);
  const parts = text.split(/\\x([0-9a-f]{2})/);
  return Buffer.concat(parts.map((part, index) => Buffer.from(part, index % 2 === 1 ? 'hex' : 'utf8')));
}

/**
 * One form for all names that some file system considers the same: without case, compatibility forms and the characters
 * that HFS+ ignores. It errs on the side of folding too much.
 */
export function foldName(text: string): string {
  const seen = text.includes('\\') ? text.replace(IGNORED_BY_HFS, '') : text;
  if (PLAIN.test(seen.replaceAll('\\', ''))) return seen.toLowerCase();
  // Upper case first: the long s and the Kelvin sign have no lower case that equals that of their letters.
  return seen.normalize('NFKC').toUpperCase().toLowerCase();
}

/** The names of a path, each folded separately: folding can produce a slash. */
export function foldPath(path: string): string[] {
  return PLAIN.test(path) ? path.toLowerCase().split('/') : path.split('/').map(foldName);
}

/** The directory that the path is in; the workspace itself is ''. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** The last name of the path. */
export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The path of a name in a directory. */
export function pathIn(directory: string, name: string): string {
  return directory === '' ? name : `${directory}/${name}`;
}

/** A pattern: in one of its names `*` is any part, and as a name `**` is any number of names, including none. */
type Glob = {
  /** The names between one `**` and the next. */
  readonly runs: readonly (readonly string[])[];
  /** A name that every path of the pattern contains, if there is one; else null. */
  readonly key: string | null;
};

/** Makes a pattern that compares folded names. */
export function foldedGlob(pattern: string): Glob {
  return globOf(foldPath(pattern));
}

/** Makes a pattern that compares names exactly. */
export function globOf(names: readonly string[]): Glob {
  const runs: string[][] = [[]];
  for (const name of names) {
    if (name === '**') runs.push([]);
    else runs.at(-1)?.push(name);
  }
  const first = names.find((name) => name !== '**');
  return { runs, key: first === undefined || first.includes('*') ? null : first };
}

/** Whether the path, as its names, matches the whole pattern. The cost is at most names times runs. */
export function fits({ runs }: Glob, names: readonly string[]): boolean {
  const first = runs[0] ?? [];
  const last = runs.at(-1) ?? [];
  if (runs.length === 1) return names.length === first.length && runFits(first, names, 0);
  const end = names.length - last.length;
  if (first.length > end || !runFits(first, names, 0) || !runFits(last, names, end)) return false;
  let at = first.length;
  for (let index = 1; index < runs.length - 1; index += 1) {
    const run = runs[index] ?? [];
    while (at + run.length <= end && !runFits(run, names, at)) at += 1;
    at += run.length;
    if (at > end) return false;
  }
  return true;
}

function runFits(run: readonly string[], names: readonly string[], at: number): boolean {
  return run.every((part, index) => {
    const name = names[at + index] ?? '';
    return part === name || (part.includes('*') && matchesPattern(part, name));
  });
}

/** Finds the values whose pattern matches, in their order, without trying every pattern on every path. */
export function indexGlobs<T>(
  values: readonly { readonly glob: Glob; readonly value: T }[],
): (names: readonly string[]) => T[] {
  const rows = values.map((row, order) => ({ ...row, order }));
  const byKey = new Map<string | null, typeof rows>();
  for (const row of rows) {
    const list = byKey.get(row.glob.key);
    if (list === undefined) byKey.set(row.glob.key, [row]);
    else list.push(row);
  }
  return (names) => {
    const found: typeof rows = [];
    for (const key of [null, ...names]) {
      for (const row of byKey.get(key) ?? []) if (fits(row.glob, names)) found.push(row);
    }
    // A name that occurs twice in the path has found its patterns twice.
    return found.length === 0
      ? []
      : [...new Set(found.sort((a, b) => a.order - b.order))].map(({ value }) => value);
  };
}

/* One name of a workspace, as the system tells of it. */

/** The kinds of names, and the question that tells each. */
const KINDS = {
  file: 'isFile',
  directory: 'isDirectory',
  symlink: 'isSymbolicLink',
  fifo: 'isFIFO',
  socket: 'isSocket',
  'block-device': 'isBlockDevice',
  'character-device': 'isCharacterDevice',
} as const;
const KIND_NAMES = Object.keys(KINDS) as (keyof typeof KINDS)[];

export const ENTRY_KINDS = [...KIND_NAMES, 'unknown'] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** The lstat of one name. */
export type Entry = {
  readonly path: string;
  readonly kind: EntryKind;
  /** The permission bits, with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: number;
  /** Where a symbolic link points, as it is written there; null for everything else. */
  readonly target: string | null;
};

/** The entry of one name in an open directory. */
export function entryIn(path: string): (held: HeldDirectory, name: Buffer) => Entry | undefined {
  return (held, name) => {
    const facts = held.lstat(name);
    if (facts === undefined) return undefined;
    return entryOf(path, facts, facts.isSymbolicLink() ? nameText(held.readlink(name)) : null);
  };
}

/** The entry of a name with these facts. */
export function entryOf(path: string, facts: BigIntStats, target: string | null): Entry {
  return {
    path,
    kind: kindOf(facts),
    mode: Number(facts.mode & 0o7777n),
    uid: Number(facts.uid),
    gid: Number(facts.gid),
    size: Number(facts.size),
    mtimeNs: facts.mtimeNs,
    ctimeNs: facts.ctimeNs,
    dev: facts.dev,
    ino: facts.ino,
    nlink: Number(facts.nlink),
    target,
  };
}

function kindOf(facts: BigIntStats): EntryKind {
  return KIND_NAMES.find((kind) => facts[KINDS[kind]]()) ?? 'unknown';
}
