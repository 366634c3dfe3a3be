/**
 * `palisade undo`: from the record of a command to the plan, and from the plan to the workspace. Before anything is
 * touched, what is there now is copied as well and recorded like a command, so that an undo can be undone. A killed undo
 * is run again: names that are as they were already count as done.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CodedError } from '../../core/coded-error.ts';
import { orElse } from '../../core/result.ts';
import { inDirectory } from '../workspace/baseline.ts';
import { HeldDirectory } from '../workspace/held-directory.ts';
import { type Entry, entryIn, nameText } from '../workspace/names.ts';
import { Copies, hasContent, type Miss } from './copies.ts';
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

const UNKEPT = 'what is there now cannot be kept';
/** After a file of this size the gateway answers others. */
const TURN_BYTES = 1024 * 1024;

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

  /** The record of that id, of one tenant or of any; throws where there is none. */
  find(id: string, tenant: string | null): Undoable {
    return undoableOf(this.#demand(id, tenant).record, null);
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
    const found = this.#demand(id, null);
    return this.#inWorkspace(found, (root) =>
      planUndo(found.record, presentOf(root, this.#folderOf(found)), isForced),
    );
  }

  /** Undoes a command, as far as nothing speaks against it. */
  async undo(wish: UndoWish): Promise<Undone> {
    const found = this.#demand(wish.id, null);
    this.#demandQuiet(found.record);
    return this.#inWorkspace(found, async (root) => {
      const plan = planUndo(found.record, presentOf(root, this.#folderOf(found)), wish.isForced);
      const { conflicts, missing, done: already } = plan;
      if (plan.steps.length === 0) return { ...plan, already, failed: [], digest: digestOfSteps([]) };
      const leave = this.#recordings.enter(begunOf(found.record, wish, this.#nowMs()));
      try {
        const { steps, unkept, finish } = await this.#keepPresent(root, found, { wish, steps: plan.steps });
        const { done, failed } = await restore({ root, folder: this.#folderOf(found), id: wish.id }, steps);
        finish();
        const stayed = [...unkept, ...failed];
        return { steps: done, conflicts, missing, failed: stayed, already, digest: digestOfSteps(done) };
      } finally {
        leave();
      }
    });
  }

  /** Boundary: what a command of another tenant changed is told from nothing by no word. */
  #demand(id: string, tenant: string | null): Found {
    const found = this.#records.find(id);
    if (found !== null && (tenant === null || found.record.tenant === tenant)) return found;
    if (tenant === null && this.#recordings.isRunning(id))
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

  /**
   * Copies what the steps are about to change, and records it; `finish` ends the record. Boundary: what cannot be kept
   * is not touched, and files that a command made do not fill the disk of the gateway.
   */
  async #keepPresent(root: HeldDirectory, { place, record }: Found, { wish, steps: planned }: Work) {
    const folder = this.#records.pathOf(place);
    const unkept: Left[] = [];
    const steps: Step[] = [];
    const rows: TreeRow[] = [];
    let left = this.#recordings.totalBytes;
    const copies = new Copies({ id: wish.undoId, fileBytes: left, nowMs: this.#nowMs, folder });
    try {
      for (const step of planned) {
        const size = step.present?.kind === 'file' ? step.present.size : 0;
        const row = size > left ? 'too large' : presentRow(root, step, copies);
        if (typeof row === 'string') unkept.push({ path: step.path, why: `${UNKEPT} (${row})` });
        else {
          steps.push(step);
          rows.push(...row);
          left -= size;
        }
        if (size > TURN_BYTES) await nextTurn();
      }
    } finally {
      copies.close();
    }
    const before = Tree.of(rows);
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
    const finish = () => keep(Tree.of(steps.flatMap(({ path }) => rowOf(path))), true);
    return { steps, unkept, finish };
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

/** The row of what is there now; else why it cannot be kept. */
function presentRow(root: HeldDirectory, { path, present }: Step, copies: Copies): readonly TreeRow[] | Miss {
  if (present === null) return [];
  if (present.kind !== 'file') return [{ entry: present, pointer: null }];
  const taken = orElse(() => inDirectory(root, path, (held, name) => copies.take(held, name, present)), null);
  if (taken === null) return 'unreadable';
  return typeof taken === 'string' ? taken : [{ entry: present, pointer: taken }];
}

function undoableOf(record: UndoRecord, undoneBy: string | null): Undoable {
  const { before, after, identity, born, endedMs, ...told } = record;
  return { ...told, changes: new Set([...before.paths, ...after.paths]).size, undoneBy };
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
