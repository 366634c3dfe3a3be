/**
 * What a run has left behind that could harm the next user by what it is rather than by what is in it: links that lead
 * out, pipes, names that deceive. Pure: it judges changes and a snapshot, and opens nothing. Every change counts, not
 * only those that fit into a list.
 */

import { FINDINGS, type FindingWhy, type Severity } from './findings.table.ts';
import { isSameFile } from './held-directory.ts';
import { type LinkVerdict, type ResolvedLink, resolveLinks } from './links.ts';
import type { Entry, EntryKind } from './names.ts';
import { baseOf, parentOf } from './names.ts';
import type { Snapshot } from './snapshot.ts';

export type Finding = {
  readonly path: string;
  readonly why: FindingWhy;
  readonly severity: Severity;
  readonly sentence: string;
};

type Scene = {
  readonly links: ReadonlyMap<string, ResolvedLink>;
  /** How many names of a file the snapshot has, for files with more than one. */
  readonly names: ReadonlyMap<string, number>;
};

const MAX_TARGET_CHARS = 200;

/** Everything that a person should know about, dangers first, then in the order of the paths. */
export function findingsIn(changes: readonly Change[], after: Snapshot, workspace: string): Finding[] {
  const left = changes.filter(({ change }) => change !== 'removed');
  // A link through something that was removed leads elsewhere now.
  const links = resolveLinks(after, workspace, new Set(changes.map(({ path }) => path)));
  const scene: Scene = { links, names: countNames(after) };
  const findings = left.flatMap(({ path }) => {
    const entry = after.entries.get(path);
    return entry === undefined ? [] : judge(entry, scene);
  });
  const changed = new Set(left.map(({ path }) => path));
  const all = [...findings, ...redirected(links, changed, after), ...unseen(after, changed)];
  return all.sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : Number(a.path !== b.path)));
}

function judge(entry: Entry, scene: Scene): Finding[] {
  const { path } = entry;
  const whys = [kindWhy(entry), ...modeWhys(entry), nameWhy(baseOf(path)), hardLinkWhy(entry, scene)];
  const findings = whys.flatMap((why) => (why === null ? [] : [finding(path, why)]));
  const link = scene.links.get(path);
  if (link !== undefined) findings.push(...linkFindings(entry, link.verdict));
  return findings;
}

function kindWhy({ kind }: Entry): FindingWhy | null {
  if (kind === 'fifo' || kind === 'socket') return kind;
  if (kind === 'block-device' || kind === 'character-device') return 'device';
  return kind === 'unknown' ? 'unknown-kind' : null;
}

function modeWhys({ kind, mode }: Entry): FindingWhy[] {
  if (kind === 'directory') return (mode & 0o2000) === 0 ? [] : ['setgid-directory'];
  return [
    ...((mode & 0o4000) === 0 ? [] : ['setuid' as const]),
    ...((mode & 0o2000) === 0 ? [] : ['setgid' as const]),
  ];
}

/** C0 and DEL are one byte, C1 two; other escaped bytes are invisible or not text. */
function nameWhy(name: string): FindingWhy | null {
  if (/\\x(?:[01][0-9a-f]|7f|c2\\x[89])/.test(name)) return 'control-name';
  const hidden = name.replaceAll('\\x5c', '').includes('\\x');
  return hidden || /^[\s\u2800\u3164]|[\s\u2800\u3164]$/u.test(name) ? 'disguised-name' : null;
}

function hardLinkWhy(entry: Entry, { names }: Scene): FindingWhy | null {
  if (entry.kind === 'directory' || entry.nlink < 2) return null;
  return entry.nlink > (names.get(fileKey(entry)) ?? 0) ? 'hard-link-outside' : null;
}

const LINK_WHYS: Readonly<Record<LinkVerdict, FindingWhy | null>> = {
  inside: null,
  system: null,
  outside: 'link-outside',
  loop: 'link-loop',
  unseen: 'link-unseen',
  unjudged: 'link-unjudged',
};

function linkFindings({ path, target }: Entry, verdict: LinkVerdict): Finding[] {
  const why = LINK_WHYS[verdict];
  if (why === null) return [];
  return [finding(path, why, `It points to "${(target ?? '').slice(0, MAX_TARGET_CHARS)}".`)];
}

/** Links that the run did not touch, but that lead through something that it did. */
function redirected(
  links: ReadonlyMap<string, ResolvedLink>,
  changed: ReadonlySet<string>,
  { entries }: Snapshot,
): Finding[] {
  return [...links].flatMap(([path, { verdict, touched }]) => {
    const entry = entries.get(path);
    return entry === undefined || !touched || changed.has(path) ? [] : linkFindings(entry, verdict);
  });
}

function unseen({ gaps }: Snapshot, changed: ReadonlySet<string>): Finding[] {
  return gaps.map(({ path, why }) => {
    const isOld = why === 'another-device' && !changed.has(path);
    return finding(path, isOld ? 'mount' : 'unseen', `The reason is "${why}".`);
  });
}

function countNames({ entries }: Snapshot): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const entry of entries.values()) {
    if (entry.nlink < 2 || entry.kind === 'directory') continue;
    const key = fileKey(entry);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function fileKey({ dev, ino }: Entry): string {
  return `${dev}:${ino}`;
}

function finding(path: string, why: FindingWhy, detail = ''): Finding {
  const { severity, sentence } = FINDINGS[why];
  return { path, why, severity, sentence: detail === '' ? sentence : `${sentence} ${detail}` };
}

function rank({ severity }: Finding): number {
  return severity === 'danger' ? 0 : 1;
}

/* The differences between two snapshots. Pure: the file system is not read again. */

/**
 * One name that has changed. `mode`: only its mode or owner visibly differs (which does not prove that the content is
 * the same). A rename is a removal and an addition.
 */
export type Change = {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed' | 'mode' | 'type';
  /** What it is now, or was before it was removed. */
  readonly kind: EntryKind;
};

/** Lists everything that differs, in the order of the paths. What a gap hides is never reported as removed. */
export function diffSnapshots(before: Snapshot, after: Snapshot): Change[] {
  const changes: Change[] = [];
  const isUnseen = unseenIn(after);
  for (const [path, now] of after.entries) {
    const then = before.entries.get(path);
    // A sparse snapshot lacks names that exist.
    if (then === undefined && before.isSparse) continue;
    const change = then === undefined ? 'added' : compare(then, now);
    if (change !== null) changes.push({ path, change, kind: now.kind });
  }
  for (const [path, { kind }] of before.entries) {
    if (!after.entries.has(path) && !after.isSparse && !isUnseen(path))
      changes.push({ path, change: 'removed', kind });
  }
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The first of them, and how many more there are. */
export function firstOf<T>(items: readonly T[], cap: number): { readonly items: readonly T[]; more: number } {
  return { items: items.slice(0, cap), more: Math.max(0, items.length - cap) };
}

function compare(then: Entry, now: Entry): Change['change'] | null {
  if (then.kind !== now.kind) return 'type';
  if (!isSameFile(then, now)) return 'changed';
  const reowned = then.mode !== now.mode || then.uid !== now.uid || then.gid !== now.gid;
  // The times of a directory reflect its names, and those are compared themselves.
  if (now.kind === 'directory') return reowned ? 'mode' : null;
  const rewritten = then.mtimeNs !== now.mtimeNs || then.size !== now.size || then.target !== now.target;
  if (rewritten) return 'changed';
  if (reowned) return 'mode';
  // Boundary: a program can reset the mtime after a write, but not the ctime.
  return then.ctimeNs === now.ctimeNs ? null : 'changed';
}

/** Whether a path that is not in the snapshot lies in a part that it did not see. */
function unseenIn({ gaps }: Snapshot): (path: string) => boolean {
  const unseen = new Map(gaps.map(({ path }) => [path, true]));
  const isUnseen = (path: string): boolean => {
    // Up to the nearest known directory, then down again, so that no directory is looked up twice.
    const asked: string[] = [];
    let at = path;
    while (at !== '' && !unseen.has(at)) {
      asked.push(at);
      at = parentOf(at);
    }
    const answer = unseen.get(at === '' ? '.' : at) ?? false;
    for (const each of asked) unseen.set(each, answer);
    return answer;
  };
  return gaps.length === 0 ? () => false : isUnseen;
}
