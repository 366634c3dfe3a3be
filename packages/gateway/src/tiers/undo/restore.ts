/**
 * Carries out an undo, name by name. The workspace is hostile and may be changing: every step goes down from its open
 * directory without following a link, looks again at what is there, and touches only what the plan saw. A file is
 * written under a name of its own and renamed over the old one, so that a kill leaves either of the two, and so that no
 * file with another name outside is written through this one.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  futimesSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  writeSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { digestValue } from '../../core/digest.ts';
import { orElse } from '../../core/result.ts';
import { HeldDirectory, isSameFile } from '../workspace/held-directory.ts';
import { baseOf, type Entry, entryIn, nameBytes, parentOf } from '../workspace/names.ts';
import { contentAt, isSameButLinks } from './copies.ts';
import { CHANGED_SINCE, type Left, OWNER_ALL, type Step } from './plan.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
/** Names a file without opening it; Node has no constant for it. */
const O_PATH = 0o10000000;
/** Boundary: setuid and setgid do not come back with a file. */
const FILE_MODE = 0o777;
const DIRECTORY_MODE = 0o3777;
const STEPS_PER_TURN = 32;
const MOST_TEMPORARY = 64;

export type RestoreOptions = {
  readonly root: HeldDirectory;
  /** The folder with the copies. */
  readonly folder: string;
  /** The id of the undone record: names that a killed undo has left are found by it. */
  readonly id: string;
};

export type Restored = {
  readonly done: readonly Step[];
  readonly failed: readonly Left[];
};

/** Carries out the steps; what fails is told, and the rest goes on. */
export async function restore(options: RestoreOptions, steps: readonly Step[]): Promise<Restored> {
  const work = new Restoring(options);
  const done: Step[] = [];
  const failed = new Map<string, string>();
  const attempt = async (some: readonly Step[], act: (step: Step) => void, isLast = true) => {
    for (const [index, step] of some.entries()) {
      if (index % STEPS_PER_TURN === STEPS_PER_TURN - 1) await nextTurn();
      if (failed.has(step.path)) continue;
      try {
        act(step);
        if (isLast) done.push(step);
      } catch (error) {
        failed.set(step.path, whyOf(error));
      }
    }
  };
  const isDirectory = ({ goal }: Step) => goal?.kind === 'directory';
  const goes = ({ present, goal }: Step) => present !== null && (goal === null || present.kind !== goal.kind);
  const upwards = [...steps].reverse();
  await attempt(upwards.filter(goes), (step) => work.remove(step), false);
  await attempt(steps.filter(isDirectory), (step) => work.makeDirectory(step), false);
  await attempt(
    steps.filter((step) => step.goal !== null && !isDirectory(step)),
    (step) => work.put(step),
  );
  done.push(...steps.filter(({ goal, path }) => goal === null && !failed.has(path)));
  // The modes of directories come last: one that is closed to its owner takes no files.
  work.lock();
  await attempt(upwards.filter(isDirectory), (step) => work.setMode(step));
  work.lock();
  return { done, failed: [...failed].map(([path, why]) => ({ path, why })) };
}

class Restoring {
  readonly #options: RestoreOptions;
  /** Directories that were opened to their owner for this, with the modes that they get back. */
  readonly #unlocked = new Map<string, number>();

  constructor(options: RestoreOptions) {
    this.#options = options;
  }

  remove({ path, present }: Step): void {
    this.#in(path, (held, name) => {
      if (present?.kind !== 'directory') {
        demandSame(held, name, { path, present });
        held.remove(name);
      } else rmdirSync(held.pathOf(name));
    });
  }

  /** Makes a directory, open to its owner; its mode is set at the end. */
  makeDirectory({ path, goal }: Step): void {
    this.#in(path, (held, name) => {
      const now = entryIn(path)(held, name);
      if (now?.kind === 'directory') return;
      mkdirSync(held.pathOf(name), { mode: OWNER_ALL });
      if (goal !== null && isRoot()) withDirectory(held, name, (fd) => fchownSync(fd, goal.uid, goal.gid));
    });
  }

  /** Puts a file or a link in its place. */
  put(step: Step): void {
    const { path, act, present, goal } = step;
    if (goal === null) return;
    this.#in(path, (held, name) => {
      const isGone = present !== null && present.kind !== goal.kind;
      demandSame(held, name, { path, present: isGone ? null : present });
      if (act === 'mode') return void setModeIn(held, name, { goal, mode: goal.mode & FILE_MODE });
      const temporary = this.#temporaryIn(held);
      try {
        if (goal.kind === 'symlink') held.createLink(temporary, nameBytes(goal.target ?? ''));
        else this.#write(held.pathOf(temporary), step);
        renameSync(held.pathOf(temporary), held.pathOf(name));
      } catch (error) {
        orElse(() => held.remove(temporary), null);
        throw error;
      }
    });
  }

  setMode({ path, goal }: Step): void {
    if (goal === null) return;
    this.#in(path, (held, name) => setModeIn(held, name, { goal, mode: goal.mode & DIRECTORY_MODE }));
    this.#unlocked.delete(path);
  }

  /** Closes again what was opened for this. */
  lock(): void {
    for (const [path, mode] of [...this.#unlocked].reverse()) {
      orElse(() => {
        if (path === '') return fchmodSync(this.#options.root.fd, mode);
        return inParent(
          this.#options.root,
          path,
          (held, name) => withDirectory(held, name, (fd) => fchmodSync(fd, mode)),
          () => undefined,
        );
      }, null);
    }
    this.#unlocked.clear();
  }

  #write(path: Buffer, { act, goal, pointer }: Step): void {
    if (goal === null || pointer === null) return;
    const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      for (const part of contentAt(this.#options.folder, pointer, goal.size))
        for (let from = 0; from < part.length; ) from += writeSync(fd, part, from);
      if (isRoot()) fchownSync(fd, goal.uid, goal.gid);
      fchmodSync(fd, goal.mode & FILE_MODE);
      // A file whose content changes back gets the present time, so that a build notices.
      const mtimeS = Number(goal.mtimeNs / 1000n) / 1e6;
      if (act === 'recreate') futimesSync(fd, mtimeS, mtimeS);
    } finally {
      closeSync(fd);
    }
  }

  /** A name that is free; one that a killed undo of the same record has left is removed. */
  #temporaryIn(held: HeldDirectory): Buffer {
    // Boundary: a later command may have made a directory of that name, to keep its files from being restored.
    for (let number = 0; ; number += 1) {
      const name = Buffer.from(`.palisade-undo-${this.#options.id}${number === 0 ? '' : `-${number}`}`);
      orElse(() => held.remove(name), null);
      if (number === MOST_TEMPORARY || held.lstat(name) === undefined) return name;
    }
  }

  #in(path: string, act: (held: HeldDirectory, name: Buffer) => void): void {
    inParent(this.#options.root, path, act, (directory, mode) => {
      if (!this.#unlocked.has(directory)) this.#unlocked.set(directory, mode);
    });
  }
}

/** Passes the open directory of a path and its last name; a directory that is closed to its owner is opened. */
function inParent(
  root: HeldDirectory,
  path: string,
  act: (held: HeldDirectory, name: Buffer) => void,
  onUnlock: (directory: string, mode: number) => void,
): void {
  let held = HeldDirectory.of(root.fd);
  let at = '';
  try {
    for (const text of parentOf(path) === '' ? [] : parentOf(path).split('/')) {
      const name = nameBytes(text);
      at = at === '' ? text : `${at}/${text}`;
      const mode = Number(held.lstat(name)?.mode ?? 0n) & 0o7777;
      // Boundary: nothing is opened through a link; what has replaced a directory since then is not entered.
      const isClosed = (mode & OWNER_ALL) !== OWNER_ALL && !isRoot();
      if (isClosed) held.unlockChild(name);
      const child = held.child(name);
      held.close();
      held = child;
      if (isClosed) onUnlock(at, mode);
    }
    const mode = Number(held.stat().mode) & 0o7777;
    if (at === '' && (mode & OWNER_ALL) !== OWNER_ALL && !isRoot()) {
      held.unlock();
      onUnlock('', mode);
    }
    act(held, nameBytes(baseOf(path)));
  } finally {
    held.close();
  }
}

type Seen = { readonly path: string; readonly present: Entry | null };

/** Boundary: what was swapped in since the plan was made is neither removed nor replaced. */
function demandSame(held: HeldDirectory, name: Buffer, { path, present }: Seen): void {
  const now = entryIn(path)(held, name) ?? null;
  const isSame = present === null || now === null ? present === now : isSameButLinks(present, now);
  if (!isSame) throw new Error(CHANGED_SINCE);
}

function setModeIn(
  held: HeldDirectory,
  name: Buffer,
  { goal, mode }: { readonly goal: Entry; readonly mode: number },
): void {
  const fd = openSync(held.pathOf(name), O_PATH | O_NOFOLLOW);
  try {
    const now = fstatSync(fd, { bigint: true });
    const isKind = goal.kind === 'directory' ? now.isDirectory() : now.isFile() && isSameFile(now, goal);
    // Boundary: not through a link, and not of a file that has another name elsewhere.
    if (!isKind || (now.isFile() && now.nlink !== 1n)) throw new Error(CHANGED_SINCE);
    if (isRoot()) chownSync(`/proc/self/fd/${fd}`, goal.uid, goal.gid);
    chmodSync(`/proc/self/fd/${fd}`, mode);
  } finally {
    closeSync(fd);
  }
}

function withDirectory(held: HeldDirectory, name: Buffer, act: (fd: number) => void): void {
  const child = held.child(name);
  try {
    act(child.fd);
  } finally {
    child.close();
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function whyOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  if (code === 'ENOTEMPTY') return 'it has names that the command did not make';
  if (code === 'EEXIST') return 'names of the form .palisade-undo-ID beside it are taken; remove them';
  if (code === 'ENOENT') return 'its directory is gone';
  if (code === 'ENOTDIR' || code === 'ELOOP') return 'a part of its path is no longer a directory';
  return code === undefined ? message : `the system reports ${code}`;
}

/** What was done, in one value: which names, what became of each, and of which content. */
export function digestOfSteps(steps: readonly Step[]): string {
  const rows = steps.map(({ path, act, goal, pointer }) => [
    ...[path, act, goal?.kind ?? null, goal?.mode ?? null, goal?.size ?? null, pointer?.sum ?? null],
    goal?.target ?? null,
  ]);
  return digestValue(rows);
}
