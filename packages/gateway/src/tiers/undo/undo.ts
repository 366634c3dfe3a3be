/**
 * `palisade undo`: from the record of a command to the plan, and from the plan to the workspace. Before anything is
 * touched, what is there now is copied as well and recorded like a command, so that an undo can be undone. A killed undo
 * is run again: names that are as they were already count as done.
 */
import { CodedError } from '../../core/coded-error.ts';
import { orElse } from '../../core/result.ts';
import { inDirectory } from '../workspace/baseline.ts';
import { HeldDirectory } from '../workspace/held-directory.ts';
import { type Entry, entryIn, nameText } from '../workspace/names.ts';
import { Copies, hasContent } from './copies.ts';
import { type Left, type Present, planUndo, type Step, type UndoPlan } from './plan.ts';
import type { Recordings } from './recordings.ts';
import type { BegunRecord, UndoRecord, UndoRecords } from './records.ts';
import { digestOfSteps, restore } from './restore.ts';
import { Tree, type TreeRow } from './tree.ts';

/** A command that can be undone, or an undo. */
export type Undoable = Pick<
  UndoRecord,
  | 'id'
  | 'of'
  | 'tenant'
  | 'principal'
  | 'workspace'
  | 'command'
  | 'startedMs'
  | 'isEndKnown'
  | 'beside'
  | 'isWhole'
> & {
  readonly changes: number;
  /** The last undo of it; null: none. */
  readonly undoneBy: string | null;
};

export type Undone = Omit<UndoPlan, 'done'> & {
  readonly already: number;
  readonly failed: readonly Left[];
  /** The digest of what was done. */
  readonly digest: string;
};

export type UndoWish = {
  readonly id: string;
  readonly isForced: boolean;
  /** The id of the undo, by which it is undone itself. */
  readonly undoId: string;
  readonly principal: string;
};

type Found = { readonly place: string; readonly record: UndoRecord };

export class Undos {
  readonly #records: UndoRecords;
  readonly #recordings: Recordings;
  readonly #nowMs: () => number;

  constructor(records: UndoRecords, recordings: Recordings, nowMs: () => number) {
    this.#records = records;
    this.#recordings = recordings;
    this.#nowMs = nowMs;
  }

  /** What can be undone, the newest first; of one tenant, or of all. */
  list(tenant: string | null): readonly Undoable[] {
    const undone = new Map<string, string>();
    return this.#records.list().flatMap((name) => {
      const record = this.#records.read(name);
      if (record === null || (tenant !== null && record.tenant !== tenant)) return [];
      const { of } = record;
      // An undo that was undone itself, or that was killed, does not count.
      if (of !== null && record.isEndKnown && !undone.has(of) && !undone.has(record.id))
        undone.set(of, record.id);
      return [undoableOf(record, undone.get(record.id) ?? null)];
    });
  }

  /** The record of that id; throws where there is none. */
  find(id: string): Undoable {
    return undoableOf(this.#demand(id).record, null);
  }

  count(): number {
    return this.#records.list().length;
  }

  /** How many bytes all of it takes. */
  bytes(): number {
    return this.#records.bytes();
  }

  /** What an undo would do now; nothing is touched. */
  plan(id: string, isForced: boolean): UndoPlan {
    const found = this.#demand(id);
    return this.#inWorkspace(found, (root) =>
      planUndo(found.record, presentOf(root, this.#folderOf(found)), isForced),
    );
  }

  /** Undoes a command, as far as nothing speaks against it. */
  async undo(wish: UndoWish): Promise<Undone> {
    const found = this.#demand(wish.id);
    this.#demandQuiet(found.record);
    return this.#inWorkspace(found, async (root) => {
      const plan = planUndo(found.record, presentOf(root, this.#folderOf(found)), wish.isForced);
      const { steps, conflicts, missing, done: already } = plan;
      if (steps.length === 0) return { ...plan, already, failed: [], digest: digestOfSteps([]) };
      const leave = this.#recordings.enter(begunOf(found.record, wish, this.#nowMs()));
      try {
        const finish = this.#keepPresent(root, found, { wish, steps });
        const { done, failed } = await restore({ root, folder: this.#folderOf(found), id: wish.id }, steps);
        finish();
        return { steps: done, conflicts, missing, failed, already, digest: digestOfSteps(done) };
      } finally {
        leave();
      }
    });
  }

  #demand(id: string): Found {
    const found = this.#records.find(id);
    if (found !== null) return found;
    if (this.#recordings.isRunning(id))
      throw new CodedError('run/unknown', `Cannot undo "${id}": it has not ended`, {
        remedy: `Wait for its end, or stop it: \`palisade background stop ${id}\`.`,
      });
    const message = `Cannot undo "${id}": nothing is recorded of it; it changed nothing, or it is too long ago`;
    throw new CodedError('run/unknown', message, {
      remedy: '`palisade undo --list` shows what can be undone.',
    });
  }

  /** Boundary: while a command runs there, what it writes next is in no plan. */
  #demandQuiet({ id, workspace }: UndoRecord): void {
    const [running] = this.#recordings.runningIn(workspace);
    if (running === undefined) return;
    throw new CodedError(
      'tier/not-started',
      `Cannot undo "${id}": the call "${running}" runs in "${workspace}"`,
      {
        remedy: `Wait for its end, or stop it: \`palisade background stop ${running}\`.`,
      },
    );
  }

  #inWorkspace<T>({ record }: Found, act: (root: HeldDirectory) => T): T {
    const held = orElse(() => this.#recordings.hold(record), null);
    if (held === null)
      throw new CodedError(
        'runner/invalid-workspace',
        `Cannot undo "${record.id}": "${record.workspace}" is not the directory any more that the command worked in`,
      );
    const root = HeldDirectory.of(held.fd);
    const close = () => {
      root.close();
      held.close();
    };
    try {
      const result = act(root);
      if (result instanceof Promise) return result.finally(close) as T;
      close();
      return result;
    } catch (error) {
      close();
      throw error;
    }
  }

  /** Copies what the steps are about to change, and records it; the returned function ends the record. */
  #keepPresent(root: HeldDirectory, { place, record }: Found, { wish, steps }: Work): () => void {
    const options = { id: wish.undoId, fileBytes: Number.MAX_SAFE_INTEGER, nowMs: this.#nowMs };
    const copies = new Copies({ ...options, folder: this.#records.pathOf(place) });
    let before: Tree;
    try {
      before = Tree.of(
        steps.flatMap(({ path, present }) => presentRow(root, { path, present, copies, wish })),
      );
    } finally {
      copies.close();
    }
    const { tree, starter, isSparse, ...facts } = begunOf(record, wish, this.#nowMs());
    const keep = (after: Tree, isEndKnown: boolean) =>
      this.#records.keep(place, { ...facts, endedMs: this.#nowMs(), isEndKnown, before, after });
    // For the case of a kill: what it has reached by then is known by its content.
    keep(
      Tree.of(steps.flatMap(({ goal: entry, pointer }) => (entry === null ? [] : [{ entry, pointer }]))),
      false,
    );
    const rowOf = (path: string) => {
      const entry = entryAt(root, path);
      return entry === null ? [] : [{ entry, pointer: null }];
    };
    return () => keep(Tree.of(steps.flatMap(({ path }) => rowOf(path))), true);
  }

  #folderOf({ place }: Found): string {
    return this.#records.pathOf(place);
  }
}

type Work = { readonly wish: UndoWish; readonly steps: readonly Step[] };

function begunOf(
  { tenant, workspace, identity, born }: UndoRecord,
  wish: UndoWish,
  startedMs: number,
): BegunRecord {
  return {
    ...{ tenant, workspace, identity, born, principal: wish.principal, id: wish.undoId },
    ...{ command: `undo ${wish.id}`, of: wish.id, startedMs, starter: '', beside: [] },
    ...{ tree: '', isWhole: true, isSparse: false },
  };
}

type Keeping = Pick<Step, 'path' | 'present'> & { readonly copies: Copies; readonly wish: UndoWish };

/** Boundary: what cannot be kept is not touched. */
function presentRow(root: HeldDirectory, { path, present, copies, wish }: Keeping): readonly TreeRow[] {
  if (present === null) return [];
  if (present.kind !== 'file') return [{ entry: present, pointer: null }];
  const taken = inDirectory(root, path, (held, name) => copies.take(held, name, present));
  if (typeof taken === 'string') throw unkept(wish.id, path, taken);
  return [{ entry: present, pointer: taken }];
}

function unkept(id: string, path: string, why: string): CodedError {
  const message = `Cannot undo "${id}": what is in "${path}" now could not be kept (${why})`;
  return new CodedError('store/unwritable', message, { remedy: 'Try again in a moment.' });
}

function undoableOf(record: UndoRecord, undoneBy: string | null): Undoable {
  const {
    id,
    of,
    tenant,
    principal,
    workspace,
    command,
    startedMs,
    isEndKnown,
    beside,
    isWhole,
    before,
    after,
  } = record;
  const changes = new Set([...before.paths, ...after.paths]).size;
  return {
    id,
    of,
    tenant,
    principal,
    workspace,
    command,
    startedMs,
    isEndKnown,
    beside,
    isWhole,
    changes,
    undoneBy,
  };
}

/** The entry of a path, through no link; null where there is none. */
function entryAt(root: HeldDirectory, path: string): Entry | null {
  return orElse(() => inDirectory(root, path, entryIn(path)) ?? null, null);
}

function presentOf(root: HeldDirectory, folder: string): Present {
  return {
    entry: (path) => entryAt(root, path),
    names: (path) => orElse(() => inDirectory(root, `${path}/.`, (held) => listNames(held)), null),
    hasContent: ({ path }, pointer, size) =>
      orElse(
        () => inDirectory(root, path, (held, name) => hasContent({ held, name }, folder, pointer, size)),
        false,
      ),
  };
}

function listNames(held: HeldDirectory): readonly string[] {
  const names: string[] = [];
  const list = held.list();
  try {
    for (let next = list.readSync(); next !== null; next = list.readSync())
      names.push(nameText(next.name as unknown as Buffer));
  } finally {
    list.closeSync();
  }
  return names;
}
