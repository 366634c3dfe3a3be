/**
 * What is kept to undo commands, in `undo` of the state directory, for its owner alone. A folder for each tenant and
 * workspace has the last known tree, copies of contents, and a record for each command that changed something; `begun`
 * has the records of runs that have not ended. Files are written under another name and renamed, so that one is whole
 * or not there. What is too old or too much goes, the oldest first; what no record needs any more goes with it.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { digestBytes } from '../../core/digest.ts';
import { orElse } from '../../core/result.ts';
import { readTrees, type Tree, writeTrees } from './tree.ts';

/** Whose workspace it is, and which one. */
export type UndoPlace = {
  readonly tenant: string;
  readonly principal: string;
  readonly workspace: string;
  /** Its device and inode, and when it was made, where that is known. */
  readonly identity: string;
  readonly born: string;
};

/** A command that has begun, or an undo. */
export type BegunRecord = UndoPlace & {
  readonly id: string;
  /** The command, or the record that is undone. */
  readonly command: string;
  readonly of: string | null;
  readonly startedMs: number;
  /** The process that ends all processes of the run; empty where there is none. */
  readonly starter: string;
  /** Other runs in this workspace at that time. */
  readonly beside: readonly string[];
  /** The file of the tree before it. */
  readonly tree: string;
  /** Whether that tree has every name. */
  readonly isWhole: boolean;
  /** Too many names for all of them to be in it. */
  readonly isSparse: boolean;
};

/** One that has ended: the names that it changed, before it and after it. */
export type UndoRecord = Omit<BegunRecord, 'tree' | 'starter' | 'isSparse'> & {
  readonly endedMs: number;
  /** Whether it is known how it ended; if not, changes up to the next start of a gateway count as its own. */
  readonly isEndKnown: boolean;
  readonly before: Tree;
  readonly after: Tree;
};

type RecordName = { readonly place: string; readonly id: string };

const VERSION = 1;
const BEGUN = 'begun';
const SWEPT = 'swept';
const RECORD = '.record';
const TREE = '.tree';
const UNFINISHED = '.new';
const ID = /^[A-Za-z0-9_]{1,64}$/;

export type UndoLimits = {
  /** How long the record of a command is kept. */
  readonly keepMs: number;
  /** All copies of all workspaces. */
  readonly totalBytes: number;
};

export class UndoRecords {
  readonly folder: string;
  readonly #instance: string;

  constructor(folder: string, instance: string) {
    this.folder = folder;
    this.#instance = instance;
  }

  /** The folder of a workspace of a tenant, which exists after this. */
  placeOf(where: Pick<UndoPlace, 'tenant' | 'identity'>): string {
    const place = placeOf(where);
    this.#make(place);
    return place;
  }

  pathOf(place: string): string {
    return join(this.folder, place);
  }

  /** Writes the record of a run that begins; the returned function removes it. */
  begin(record: BegunRecord): () => void {
    this.#make(BEGUN);
    const path = join(this.folder, BEGUN, `${this.#instance}.${record.id}`);
    writeWhole(path, writeTrees({ version: VERSION, ...record }, []));
    return () => rmSync(path, { force: true });
  }

  /** The runs that have begun, with the gateway of each. */
  begun(): readonly { readonly instance: string; readonly id: string; readonly remove: () => void }[] {
    return namesIn(join(this.folder, BEGUN)).flatMap((name) => {
      const [instance = '', id = '', ...more] = name.split('.');
      const path = join(this.folder, BEGUN, name);
      return more.length > 0 || !ID.test(id)
        ? []
        : [{ instance, id, remove: () => rmSync(path, { force: true }) }];
    });
  }

  isOwn({ instance }: { readonly instance: string }): boolean {
    return instance === this.#instance;
  }

  readBegun({ instance, id }: { readonly instance: string; readonly id: string }): BegunRecord | null {
    return orElse(
      () => readTrees(readFileSync(join(this.folder, BEGUN, `${instance}.${id}`))).header as BegunRecord,
      null,
    );
  }

  /** Keeps the record of a run that has ended. */
  keep(place: string, { before, after, ...record }: UndoRecord): void {
    const path = join(this.folder, place, `${record.id}${RECORD}`);
    writeWhole(path, writeTrees({ version: VERSION, ...record }, [before, after]));
  }

  /** Writes the tree of a workspace, and removes the others that no run needs. Gives its name. */
  writeTree(place: string, id: string, tree: Tree): string {
    const name = `${id}${TREE}`;
    writeWhole(join(this.folder, place, name), writeTrees(null, [tree]));
    return name;
  }

  /** The last tree of a workspace, with its name; null where there is none that can be read. */
  lastTree(place: string): { readonly name: string; readonly tree: Tree } | null {
    const name = this.lastTreeName(place);
    const tree = name === undefined ? null : this.readTree(place, name);
    return name === undefined || tree === null ? null : { name, tree };
  }

  lastTreeName(place: string): string | undefined {
    return namesIn(join(this.folder, place))
      .filter((each) => each.endsWith(TREE))
      .sort()
      .at(-1);
  }

  readTree(place: string, name: string): Tree | null {
    return orElse(() => readTrees(readFileSync(join(this.folder, place, name))).trees[0] ?? null, null);
  }

  /** The records of all workspaces, the newest first: ids begin with their time. */
  list(): readonly RecordName[] {
    return this.#places()
      .flatMap((place) =>
        namesIn(join(this.folder, place))
          .filter((name) => name.endsWith(RECORD))
          .map((name) => ({ place, id: name.slice(0, -RECORD.length) })),
      )
      .sort((a, b) => (timeOf(a.id) < timeOf(b.id) ? 1 : -1));
  }

  /** The record of that name; null where there is none, or it cannot be used. */
  read({ place, id }: RecordName): UndoRecord | null {
    return orElse(() => {
      const { header, trees } = readTrees(readFileSync(join(this.folder, place, `${id}${RECORD}`)));
      const [before, after] = trees;
      const record = header as UndoRecord & { readonly version: number };
      if (before === undefined || after === undefined || record.version !== VERSION) return null;
      return { ...record, before, after };
    }, null);
  }

  find(id: string): { readonly place: string; readonly record: UndoRecord } | null {
    const name = ID.test(id) ? this.list().find((each) => each.id === id) : undefined;
    const record = name === undefined ? null : this.read(name);
    return name === undefined || record === null ? null : { place: name.place, record };
  }

  /** How many bytes all of it takes. */
  bytes(): number {
    return this.#places().reduce((sum, place) => sum + bytesIn(join(this.folder, place)), 0);
  }

  /** How long ago all of it was looked at; of an empty folder, just now. */
  sweptMsAgo(nowMs: number): number {
    if (!existsSync(this.folder)) return 0;
    return nowMs - writtenMs(join(this.folder, SWEPT));
  }

  /** Removes what is too old, then the oldest until the rest fits, then what nothing needs. */
  sweep({ keepMs, totalBytes }: UndoLimits, nowMs: number): void {
    if (!existsSync(this.folder)) return;
    writeFileSync(join(this.folder, SWEPT), '', { mode: 0o600 });
    const sinceMs = nowMs - keepMs;
    const names = [...this.list()].reverse();
    const isOld = ({ place, id }: RecordName) =>
      writtenMs(join(this.folder, place, `${id}${RECORD}`)) < sinceMs;
    for (const name of names.filter(isOld)) this.#remove(name);
    for (const place of this.#places()) this.#sweepCopies(place, sinceMs);
    let bytes = this.bytes();
    for (const name of names.slice(0, -1)) {
      if (bytes <= totalBytes) return;
      this.#remove(name);
      this.#sweepCopies(name.place, sinceMs);
      bytes = this.bytes();
    }
    // What is left is the trees of workspaces and the last record; the next run copies again.
    for (const place of this.#places()) {
      if (this.bytes() <= totalBytes) return;
      if (this.#isInUse(place)) continue;
      rmSync(join(this.folder, place), { recursive: true, force: true });
    }
  }

  #sweepCopies(place: string, sinceMs: number): void {
    const folder = join(this.folder, place);
    // Boundary: a run that has begun may be about to write its tree.
    if (this.#isInUse(place)) return;
    const names = namesIn(folder);
    const trees = names.filter((name) => name.endsWith(TREE)).sort();
    const last = trees.at(-1);
    for (const name of trees) if (name !== last) rmSync(join(folder, name), { force: true });
    const records = names.filter((name) => name.endsWith(RECORD));
    const isIdle = records.length === 0 && (last === undefined || writtenMs(join(folder, last)) < sinceMs);
    if (isIdle) rmSync(folder, { recursive: true, force: true });
    if (isIdle) return;
    const needed = new Set([
      ...(last === undefined ? [] : (this.readTree(place, last)?.files ?? [])),
      ...records.flatMap(
        (name) => this.read({ place, id: name.slice(0, -RECORD.length) })?.before.files ?? [],
      ),
    ]);
    for (const name of names) {
      const isCopy = /\.(?:copies|clone-[0-9]+)$/.test(name);
      if ((isCopy && !needed.has(name)) || name.endsWith(UNFINISHED))
        rmSync(join(folder, name), { force: true });
    }
  }

  #isInUse(place: string): boolean {
    return this.begun().some((run) => {
      const begun = this.readBegun(run);
      return begun === null || placeOf(begun) === place;
    });
  }

  #remove({ place, id }: RecordName): void {
    rmSync(join(this.folder, place, `${id}${RECORD}`), { force: true });
  }

  #places(): readonly string[] {
    return namesIn(this.folder).filter((name) => name !== BEGUN && name !== SWEPT);
  }

  #make(name: string): void {
    mkdirSync(join(this.folder, name), { recursive: true, mode: 0o700 });
  }
}

/** Boundary: tenants share no copies, also where they share a workspace. */
function placeOf({ tenant, identity }: Pick<UndoPlace, 'tenant' | 'identity'>): string {
  return `${digestBytes(tenant).slice(0, 16)}.${identity.replace(':', '-')}`;
}

/** The part of an id that tells its time: ids of commands and of undos sort by it. */
export function timeOf(id: string): string {
  return id.slice(id.indexOf('_') + 1);
}

function writeWhole(path: string, bytes: Buffer): void {
  writeFileSync(`${path}${UNFINISHED}`, bytes, { mode: 0o600 });
  renameSync(`${path}${UNFINISHED}`, path);
}

function namesIn(folder: string): string[] {
  return orElse(() => readdirSync(folder), []);
}

function bytesIn(folder: string): number {
  const sizeOf = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
  return namesIn(folder).reduce((sum, name) => sum + sizeOf(name), 0);
}

function writtenMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
