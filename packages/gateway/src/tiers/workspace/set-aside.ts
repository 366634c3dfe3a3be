/**
 * Takes back what a run wrote to protected files, once every process of it has ended: what is there now is kept in the
 * quarantine, and what was there before is put back. The workspace is hostile; every step goes from its open directory
 * down, one name at a time, and follows no link. A removed file is not put back: nothing runs from it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { maxBytesOf, PROTECTED, type ProtectedName, ROWS_OF_REPOSITORY } from '../../core/protected.table.ts';
import { orElse } from '../../core/result.ts';
import { type Baseline, type Copy, homeKey, inDirectory, readIn } from './baseline.ts';
import { FINDINGS } from './findings.table.ts';
import type { HeldDirectory } from './held-directory.ts';
import type { Finding } from './hygiene.ts';
import { type Judged, judgeText, resolveInside } from './judge.ts';
import type { Entry } from './names.ts';
import { nameBytes, parentOf, pathIn } from './names.ts';
import { type ProtectedNames, protectedIn, rowOf } from './protected.ts';
import type { Keep } from './quarantine.ts';
import type { Snapshot } from './snapshot.ts';

export type Protection = {
  readonly root: HeldDirectory;
  readonly workspace: string;
  readonly baseline: Baseline;
  /** Rows that the call may write. */
  readonly allowed: readonly ProtectedName[];
  /** False where the tier cannot keep a run from writing elsewhere anyway: then it is told and left. */
  readonly mayChange: boolean;
  readonly keep: Keep;
};

export type SetAside = {
  readonly findings: readonly Finding[];
  /** How many were set aside. */
  readonly count: number;
  /** Paths that are as before the run again, or gone again. */
  readonly undone: ReadonlySet<string>;
};

type TellingWhy = 'set-aside' | 'runs-later' | 'not-held';
type TakenBack = { readonly finding: Finding; readonly isUndone: boolean };

type Scene = Protection & {
  readonly after: Snapshot;
  readonly names: ProtectedNames;
  readonly read: (entry: Entry, row: ProtectedName) => Buffer | null;
  /** What was there before, by the directory that it belongs to. */
  readonly byHome: ReadonlyMap<string, Copy>;
  /** Whether every repository from before the run is where it was. */
  readonly keepsRepositories: boolean;
  /** Whether the times of a file tell that it was written; in memory a mapped file changes without. */
  readonly timesTell: boolean;
};

/** The gateway answers others after this many files. */
const FILES_PER_TURN = 16;

/** Judges every protected file that differs from the baseline, and takes the dangerous ones back. */
export async function setAside(protection: Protection, after: Snapshot): Promise<SetAside> {
  const { baseline, allowed } = protection;
  const scene = sceneOf(protection, after);
  const { names } = scene;
  const findings: Finding[] = [];
  const undone = new Set<string>();
  // What has a copy comes first, so that nothing else uses up what may be read.
  const ordered = [...names.rows].sort(
    ([a], [b]) => Number(baseline.copies.has(b)) - Number(baseline.copies.has(a)),
  );
  for (const [index, [path, row]] of ordered.entries()) {
    if (index % FILES_PER_TURN === FILES_PER_TURN - 1) await nextTurn();
    const entry = after.entries.get(path);
    if (entry === undefined || allowed.includes(row) || isOfNewRepository(scene, path, row)) continue;
    const taken = takeBack(scene, entry, row);
    if (taken === null) continue;
    findings.push(taken.finding);
    if (taken.isUndone) undone.add(path);
  }
  for (const path of names.unjudged)
    findings.push({ path, why: 'link-unjudged', ...FINDINGS['link-unjudged'] });
  const count = findings.filter(({ why }) => why === 'set-aside').length;
  return { findings, undone, count };
}

function sceneOf(protection: Protection, after: Snapshot): Scene {
  const { baseline, workspace, root } = protection;
  const { copies, hints, repositories } = baseline;
  const links = [...copies].filter(([, { entry }]) => entry.kind === 'symlink');
  const linksBefore = new Map(links.map(([path, { entry }]) => [path, entry]));
  return {
    ...protection,
    after,
    names: protectedIn(after, workspace, hints, linksBefore),
    read: readerOf(root),
    byHome: new Map([...copies.values()].map((copy) => [copy.home, copy])),
    keepsRepositories: repositories.every((each) => isInPlace(each, after)),
    timesTell: root.hasTimes(),
  };
}

/** Boundary: names by the thousand, of one file or of many, are not read without end; what is not read is dangerous. */
const MAX_READ_BYTES = 256 * 1024 * 1024;

function readerOf(root: HeldDirectory): Scene['read'] {
  const linked = new Map<string, Buffer | null>();
  let left = MAX_READ_BYTES;
  return ({ path, kind, dev, ino, nlink }, row) => {
    if (kind !== 'file') return null;
    const key = `${dev}:${ino}`;
    const known = linked.get(key);
    if (known !== undefined) return known;
    const bytes = orElse(() => readIn(root, path, Math.min(left, maxBytesOf(row))), null);
    left -= bytes?.length ?? 0;
    if (nlink > 1) linked.set(key, bytes);
    return bytes;
  };
}

function isInPlace({ path, dev, ino }: Entry, after: Snapshot): boolean {
  const now = after.entries.get(path);
  return now !== undefined && now.dev === dev && now.ino === ino;
}

/**
 * Boundary: a repository that was moved, copied or made anew in the place of another is not a new one; one inside of a
 * repository from before, or in a directory that is protected itself, has files of both.
 */
function isOfNewRepository(scene: Scene, path: string, row: ProtectedName): boolean {
  const { names, after, baseline, keepsRepositories } = scene;
  if (!keepsRepositories || !ROWS_OF_REPOSITORY.includes(row) || baseline.isInRepository) return false;
  let isNew = false;
  for (let at = parentOf(path); ; at = parentOf(at)) {
    const repository = pathIn(at, '.git');
    const was = [repository, at === '' ? '.' : at];
    if (baseline.copies.has(repository) || baseline.repositories.some((each) => was.includes(each.path)))
      return false;
    const isMade = after.entries.get(`${repository}/HEAD`)?.kind === 'file';
    isNew ||= isMade && names.repositories.has(repository) && rowOf(at, names.repositories) === undefined;
    if (at === '') return isNew;
  }
}

/** Whether it is what was there before, moved together with the directory that it belongs to. */
function isMoved(scene: Scene, { entry, row, bytes }: Written): boolean {
  const { after, names, byHome } = scene;
  const copy = byHome.get(homeKey(entry.path, row, { snapshot: after, repositories: names.repositories }));
  return copy !== undefined && isCopyOf(copy, { entry, row, bytes });
}

/** Whether it is in a linked work tree what it is in the work tree of its repository. */
function isOfWorktree(scene: Scene, written: Written): boolean {
  const { after, root, baseline, workspace } = scene;
  for (let at = parentOf(written.entry.path); ; at = parentOf(at)) {
    const pointer = pathIn(at, '.git');
    if (after.entries.has(pointer)) {
      const text = orElse(() => readIn(root, pointer, MAX_POINTER_BYTES), null)?.toString() ?? '';
      const target = resolveInside(at, text.replace(/^gitdir: ?/, '').trim(), workspace);
      const repository = /^(.*\.git)\/worktrees\/[^/]+$/.exec(target ?? '')?.[1];
      const before = baseline.repositories.find(({ path }) => path === repository);
      if (repository === undefined || before === undefined || !isInPlace(before, after)) return false;
      const rest = at === '' ? written.entry.path : written.entry.path.slice(at.length + 1);
      const copy = baseline.copies.get(pathIn(parentOf(repository), rest));
      return copy !== undefined && isCopyOf(copy, written);
    }
    if (at === '') return false;
  }
}

const MAX_POINTER_BYTES = 8192;

function isCopyOf(copy: Copy, { entry, row, bytes }: Pick<Written, 'entry' | 'row' | 'bytes'>): boolean {
  const isExecutable = (mode: number) => (mode & 0o7111) !== 0;
  return (
    copy.row === row &&
    bytes !== null &&
    copy.bytes?.equals(bytes) === true &&
    isExecutable(copy.entry.mode) === isExecutable(entry.mode)
  );
}

function takeBack(scene: Scene, entry: Entry, row: ProtectedName): TakenBack | null {
  const { path } = entry;
  const copy = scene.baseline.copies.get(path);
  // The times are used only for a file that was not copied.
  const isUncopied = copy?.bytes === null && copy.entry.kind === 'file';
  const isSame = isUncopied && isUntouched(copy.entry, entry);
  if (isSame && !copy.isFresh && scene.timesTell) return null;
  const bytes = scene.read(entry, row);
  const judged = judge(scene, { entry, row, bytes, copy });
  if (judged === 'harmless') return null;
  const { done, sentence } = PROTECTED[row];
  const tell = (why: TellingWhy, detail = ''): TakenBack => ({
    isUndone: false,
    finding: finding(path, why, `${sentence}${detail}`),
  });
  if (done === 'told' || !scene.mayChange) return tell('runs-later');
  if (isSame)
    return tell('not-held', ' It was too large to be copied, and its times do not tell whether it changed.');
  const isRestored = copy !== undefined && judged === 'dangerous' && !isUncopied;
  const about = { path, row, kind: entry.kind, ...(entry.target === null ? {} : { target: entry.target }) };
  const kept = scene.keep(about, bytes);
  const rest = judged === 'dangerous' ? null : { bytes: Buffer.from(judged.rest, 'latin1'), entry };
  try {
    replace(scene.root, path, isRestored ? copy : rest);
  } catch (error) {
    const { code = 'an error' } = error as { code?: string };
    return tell('not-held', ` Setting it aside fails with ${code}.`);
  }
  const how =
    rest !== null
      ? 'The entries that run something were removed'
      : isRestored
        ? 'It was restored as before the run'
        : isUncopied
          ? 'It was removed, as it was too large to be copied before the run'
          : 'It was removed';
  const where = kept === null ? '.' : `; what the run wrote is kept as "${kept}" in the state directory.`;
  return { ...tell('set-aside', ` ${how}${where}`), isUndone: rest === null };
}

type Written = {
  readonly entry: Entry;
  readonly row: ProtectedName;
  readonly bytes: Buffer | null;
  readonly copy: Copy | undefined;
};

function judge(scene: Scene, { entry, row, bytes, copy }: Written): Judged {
  const { path } = entry;
  if (entry.kind === 'symlink' && copy?.entry.target === entry.target) return 'harmless';
  // Boundary: a pipe, a link, or a file that is too large or unreadable gets no benefit of the doubt.
  if (bytes === null) return 'dangerous';
  const { judged } = PROTECTED[row];
  const isSame = copy?.bytes?.equals(bytes) === true;
  if (isSame) return copy?.entry.mode === entry.mode || judged !== 'any' ? 'harmless' : 'dangerous';
  // A pointer means something else in another place.
  const written = { entry, row, bytes, copy };
  if (judged !== 'git-pointer' && (isMoved(scene, written) || isOfWorktree(scene, written)))
    return 'harmless';
  const { repositories } = scene.names;
  return judgeText(judged, bytes, {
    path,
    workspace: scene.workspace,
    repositories,
    before: copy?.bytes ?? null,
    kindOf: (name) => scene.after.entries.get(name)?.kind,
    contentsOf: (name) => {
      const now = orElse(() => readIn(scene.root, name, maxBytesOf('git-config')), null);
      return [now, scene.baseline.copies.get(name)?.bytes ?? null].filter((each) => each !== null);
    },
  });
}

/** Boundary: a program can reset the mtime after a write, but not the ctime, except through a mapping in memory. */
function isUntouched(then: Entry, now: Entry): boolean {
  return (
    then.dev === now.dev &&
    then.ino === now.ino &&
    then.ctimeNs === now.ctimeNs &&
    then.mtimeNs === now.mtimeNs &&
    then.size === now.size
  );
}

/** What is put in the place of a name; null: nothing. */
type Replacement = Pick<Copy, 'bytes' | 'entry'>;

function replace(root: HeldDirectory, path: string, by: Replacement | null): void {
  inDirectory(root, path, (held, name) => {
    try {
      held.remove(name);
    } catch (error) {
      if ((error as { code?: string }).code !== 'EACCES') throw error;
      held.unlock();
      held.remove(name);
    }
    if (by?.bytes != null) held.createFile(name, by.bytes, by.entry);
    else if (by?.entry.target != null) held.createLink(name, nameBytes(by.entry.target));
  });
}

function finding(path: string, why: TellingWhy, detail: string): Finding {
  const { severity, sentence } = FINDINGS[why];
  return { path, why, severity, sentence: `${sentence} ${detail}` };
}
