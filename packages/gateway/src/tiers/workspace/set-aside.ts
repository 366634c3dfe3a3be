/**
 * Takes back what a run wrote to protected files, once every process of it has ended: what is there now is kept in the
 * quarantine, and what was there before is put back. The workspace is hostile; every step goes from its open directory
 * down, one name at a time, and follows no link. A removed file is not put back: nothing runs from it.
 */
import { digestBytes } from '../../core/digest.ts';
import { PROTECTED, type ProtectedName, ROWS_OF_REPOSITORY } from '../../core/protected.table.ts';
import { orElse } from '../../core/result.ts';
import { type Baseline, type Copy, inDirectory, MAX_FILE_BYTES, readIn } from './baseline.ts';
import { FINDINGS } from './findings.table.ts';
import type { HeldDirectory } from './held-directory.ts';
import type { Finding } from './hygiene.ts';
import { type Judged, judgeText } from './judge.ts';
import { baseOf, nameBytes, parentOf } from './names.ts';
import { type ProtectedNames, protectedIn } from './protected.ts';
import type { Keep } from './quarantine.ts';
import type { Entry, Snapshot } from './snapshot.ts';

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
  readonly known: ReadonlySet<string>;
  /** Whether every repository from before the run is where it was. */
  readonly keepsRepositories: boolean;
};

/** Judges every protected file that differs from the baseline, and takes the dangerous ones back. */
export function setAside(protection: Protection, after: Snapshot): SetAside {
  const { baseline, workspace, allowed } = protection;
  const links = [...baseline.copies].filter(([, { entry }]) => entry.kind === 'symlink');
  const linksBefore = new Map(links.map(([path, { entry }]) => [path, entry]));
  const names = protectedIn(after, workspace, baseline.hints, linksBefore);
  const keepsRepositories = baseline.repositories.every((each) => isInPlace(each, after));
  const scene: Scene = { ...protection, after, names, known: knownIn(baseline), keepsRepositories };
  const findings: Finding[] = [];
  const undone = new Set<string>();
  for (const [path, row] of names.rows) {
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

function isInPlace({ path, dev, ino }: Entry, after: Snapshot): boolean {
  const now = after.entries.get(path);
  return now !== undefined && now.dev === dev && now.ino === ino;
}

/** Boundary: a repository that was moved, copied or made anew in the place of another is not a new one. */
function isOfNewRepository(
  { names, after, baseline, keepsRepositories }: Scene,
  path: string,
  row: ProtectedName,
): boolean {
  if (!keepsRepositories || !ROWS_OF_REPOSITORY.includes(row)) return false;
  for (let at = parentOf(path); ; at = parentOf(at)) {
    const repository = at === '' ? '.git' : `${at}/.git`;
    if (after.entries.has(repository))
      return (
        names.repositories.has(repository) && !baseline.repositories.some((each) => each.path === repository)
      );
    if (at === '') return false;
  }
}

/** Contents from before the run, which it may have moved or copied, by row and last name. */
function knownIn({ copies }: Baseline): ReadonlySet<string> {
  return new Set(
    [...copies].flatMap(([path, { row, bytes }]) => (bytes === null ? [] : [knownKey(row, path, bytes)])),
  );
}

function knownKey(row: ProtectedName, path: string, bytes: Uint8Array): string {
  return `${row}\0${baseOf(path)}\0${digestBytes(bytes)}`;
}

function takeBack(scene: Scene, entry: Entry, row: ProtectedName): TakenBack | null {
  const { path } = entry;
  const copy = scene.baseline.copies.get(path);
  if (copy !== undefined && !copy.isFresh && isUntouched(copy.entry, entry)) return null;
  const bytes = entry.kind === 'file' ? orElse(() => readIn(scene.root, path, MAX_FILE_BYTES), null) : null;
  const judged = judge(scene, { entry, row, bytes, copy });
  if (judged === 'harmless') return null;
  const { done, sentence } = PROTECTED[row];
  const tell = (why: TellingWhy, detail = ''): TakenBack => ({
    isUndone: false,
    finding: finding(path, why, `${sentence}${detail}`),
  });
  if (done === 'told' || !scene.mayChange) return tell('runs-later');
  const isRestored = copy !== undefined && judged === 'dangerous';
  if (isRestored && copy.bytes === null && copy.entry.target === null)
    return tell('not-held', ' It was too large to be copied before the run.');
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
  if (judged !== 'git-pointer' && scene.known.has(knownKey(row, path, bytes))) return 'harmless';
  const { repositories } = scene.names;
  return judgeText(judged, bytes, {
    path,
    workspace: scene.workspace,
    repositories,
    before: copy?.bytes ?? null,
  });
}

/** Boundary: a program can reset the mtime after a write, but not the ctime. */
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
