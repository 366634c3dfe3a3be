/**
 * What a run has left behind that could harm the next user by what it is rather than by what is in it: links that lead
 * out, pipes, names that deceive. Pure: it judges changes and a snapshot, and opens nothing. Every change counts, not
 * only those that fit into a list.
 */
import type { Change } from './diff.ts';
import type { Entry } from './entry.ts';
import { FINDINGS, type FindingWhy, type Severity } from './findings.table.ts';
import { type LinkVerdict, type ResolvedLink, resolveLinks } from './links.ts';
import { baseOf } from './names.ts';
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
