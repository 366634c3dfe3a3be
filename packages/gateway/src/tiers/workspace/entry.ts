/** One name of a workspace, as the system tells of it. */
import type { BigIntStats } from 'node:fs';
import type { HeldDirectory } from './held-directory.ts';
import { nameText } from './names.ts';

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
