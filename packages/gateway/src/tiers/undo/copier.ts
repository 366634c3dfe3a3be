/**
 * Copies the files of a workspace that changed since the last run there, before a command starts: sources first, then
 * what tools make and can make again. The start waits for at most a moment; the rest is copied while the command runs,
 * and a file that it has changed by then is not kept.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { FRESH_MS } from '../workspace/baseline.ts';
import { HeldDirectory } from '../workspace/held-directory.ts';
import { baseOf, type Entry, nameBytes, parentOf } from '../workspace/names.ts';
import { Copies, type Miss } from './copies.ts';
import type { Pointer, Tree } from './tree.ts';

export type CopierOptions = {
  /** The workspace; the copier opens it for itself. */
  readonly root: HeldDirectory;
  readonly entries: ReadonlyMap<string, Entry>;
  /** The tree of the last run here. */
  readonly last: Tree | null;
  readonly folder: string;
  readonly id: string;
  /** Bounds of what is kept of one workspace. */
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly fileBytes: number;
  readonly nowMs: () => number;
};

/** Directories that tools fill, and fill again. */
const HEAVY =
  /(?:^|\/)(?:node_modules|\.venv|venv|site-packages|target|dist|build|\.next|\.cache|__pycache__)\//;

/** About a millisecond of copying. */
const FILES_PER_TURN = 32;

export class Copier {
  /** What was copied for this run. */
  readonly #taken = new Map<string, Pointer>();
  readonly #missed = new Map<string, Miss>();
  readonly #options: CopierOptions;
  readonly #root: HeldDirectory;
  readonly #copies: Copies;
  #todo: Entry[] = [];
  /** The paths of those: what the last tree has of them does not count. */
  readonly #stale = new Set<string>();
  /** Where those begin that tools can make again. */
  #heavyFrom = 0;
  #next = 0;
  #files = 0;
  #bytes = 0;
  #newBytes = 0;
  #atStart = 0;
  #isSameTree = false;
  #parent: { readonly path: string; readonly held: HeldDirectory } | null = null;
  #isStopped = false;
  #during: Promise<void> = Promise.resolve();

  constructor(options: CopierOptions) {
    this.#options = options;
    this.#root = HeldDirectory.of(options.root.fd);
    this.#copies = new Copies(options);
    this.#plan();
  }

  /** Whether the last tree is the one of this run. */
  get isSameTree(): boolean {
    return this.#isSameTree && this.#taken.size === 0;
  }

  /** Whether files were copied while the command ran. */
  get hasGrown(): boolean {
    return this.#taken.size > this.#atStart;
  }

  /** The bytes that were copied for this run. */
  get newBytes(): number {
    return this.#newBytes;
  }

  get isDone(): boolean {
    return this.#next >= this.#todo.length;
  }

  /** Where the content of a file is kept as it was before the run; null: nowhere. */
  pointerOf(path: string): Pointer | null {
    const taken = this.#taken.get(path);
    if (taken !== undefined || this.#stale.has(path)) return taken ?? null;
    const row = this.#options.last?.rowOf(path);
    return row === undefined ? null : (this.#options.last?.pointerAt(row) ?? null);
  }

  /** Why there is no copy of a file. */
  missOf(path: string): Miss {
    return this.#missed.get(path) ?? 'no time';
  }

  /** Takes over what the last tree has, and orders the rest. */
  #plan(): void {
    const { entries, last } = this.#options;
    // Boundary: where a write through a mapping leaves the times as they are, they do not tell that a file is the same.
    const isTimed = this.#root.hasTimes();
    const heavy: Entry[] = [];
    let same = 0;
    for (const [path, entry] of entries) {
      const row = last?.rowOf(path);
      const isSame = row !== undefined && last?.isSame(row, entry) === true;
      if (isSame) same += 1;
      if (entry.kind !== 'file') continue;
      if (isSame && isTimed && isSettled(entry, last.copiedMsAt(row))) {
        this.#files += 1;
        this.#bytes += entry.size;
        continue;
      }
      this.#stale.add(path);
      (HEAVY.test(path) ? heavy : this.#todo).push(entry);
    }
    this.#isSameTree = same === entries.size && last?.size === same;
    this.#heavyFrom = this.#todo.length;
    if (heavy.length > 0) this.#todo = [...this.#todo, ...heavy];
  }

  /** Copies until all is copied or its time has come; what was copied is on disk after this. */
  async copyUntil(isTime: (isHeavy: boolean) => boolean): Promise<void> {
    while (!this.isDone && !isTime(this.#next >= this.#heavyFrom)) {
      this.#copySome();
      if (!this.isDone) await nextTurn();
    }
    this.#copies.flush();
    this.#atStart = this.#taken.size;
  }

  /** Copies the rest beside the run, where the times of a file tell that the run has changed it. */
  copyOn(): void {
    if (this.isDone || !this.#root.hasTimes()) return;
    const copyRest = async () => {
      while (!this.isDone && !this.#isStopped) {
        this.#copySome();
        // Half of the time is for everything else.
        await sleep(1);
      }
    };
    this.#during = copyRest().catch(() => undefined);
  }

  /** Ends the copying; what was copied is on disk after this. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#during;
    this.close();
  }

  close(): void {
    this.#isStopped = true;
    this.#copies.close();
    this.#parent?.held.close();
    this.#parent = null;
  }

  /** Also closes the workspace. */
  release(): void {
    this.close();
    this.#root.close();
  }

  #copySome(): void {
    const end = Math.min(this.#next + FILES_PER_TURN, this.#todo.length);
    for (; this.#next < end; this.#next += 1) {
      const entry = this.#todo[this.#next] as Entry;
      const taken = this.#take(entry);
      if (typeof taken === 'string') this.#missed.set(entry.path, taken);
      else this.#taken.set(entry.path, taken);
    }
  }

  #take(entry: Entry): Pointer | Miss {
    const { maxBytes, maxFiles } = this.#options;
    // Boundary: neither many files nor large ones fill the disk of the gateway.
    if (this.#files >= maxFiles) return 'too many';
    if (this.#bytes + entry.size > maxBytes) return 'too large';
    try {
      const taken = this.#copies.take(this.#parentOf(entry.path), nameBytes(baseOf(entry.path)), entry);
      if (typeof taken === 'string') return taken;
      this.#files += 1;
      this.#bytes += entry.size;
      this.#newBytes += entry.size;
      return taken;
    } catch {
      return 'unreadable';
    }
  }

  /** The directory of a path, one name at a time; kept for the next file, which is mostly in it as well. */
  #parentOf(path: string): HeldDirectory {
    const parent = parentOf(path);
    if (this.#parent?.path === parent) return this.#parent.held;
    this.#parent?.held.close();
    this.#parent = null;
    let held = HeldDirectory.of(this.#root.fd);
    try {
      for (const name of parent === '' ? [] : parent.split('/')) {
        const child = held.child(nameBytes(name));
        held.close();
        held = child;
      }
    } catch (error) {
      held.close();
      throw error;
    }
    this.#parent = { path: parent, held };
    return held;
  }
}

/** Boundary: a file that was copied right after a change may have changed once more without another time. */
function isSettled(entry: Entry, copiedMs: number): boolean {
  return copiedMs - Number(entry.ctimeNs / 1_000_000n) > FRESH_MS;
}
