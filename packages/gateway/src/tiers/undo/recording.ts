/**
 * One run whose changes are recorded, from before its start to its end: what it changed is kept with both states, and
 * its result says how much of it can be undone.
 */
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Json } from '../../core/json.ts';
import type { ForbiddenPlaces } from '../../runner/forbidden.ts';
import type { Change } from '../workspace/hygiene.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import type { Copier } from './copier.ts';
import type { Miss } from './copies.ts';
import { type BegunRecord, timeOf, type UndoRecords } from './records.ts';
import { Tree, type TreeRow } from './tree.ts';

/** What can be undone of a run: all that it changed, some of it, or nothing. */
type Coverage = 'whole' | 'in part' | 'none';

/** The parts of a result about undoing it. */
export type UndoFacts = {
  readonly output: Readonly<Record<string, Json>>;
  readonly isolation: Readonly<Record<string, string>>;
};

export type RecordingsOptions = {
  readonly records: UndoRecords;
  readonly clock: Clock;
  readonly settings: Pick<
    Config['process'],
    | 'snapshotBytes'
    | 'snapshotFiles'
    | 'snapshotFileBytes'
    | 'snapshotWaitMs'
    | 'snapshotKeepMs'
    | 'snapshotTotalBytes'
  >;
  readonly isGone: (instance: string) => boolean;
  readonly forbidden: Pick<ForbiddenPlaces, 'againstWorkspace'>;
};

/** How many files that cannot be restored are told of by name. */
const MOST_MISSING = 20;
/** A run that copied more than this is followed by a look at the bounds; the others share one in a while. */
const SWEEP_BYTES = 16 * 1024 * 1024;
const NOT_RECORDED: UndoFacts = { output: { undo: 'none' }, isolation: { undo: 'none' } };

type States = {
  readonly before: Pick<Snapshot, 'entries'>;
  readonly after: Pick<Snapshot, 'entries'>;
  readonly pointerOf: (path: string) => TreeRow['pointer'];
};

/** The names that changed, before and after. */
export function treesOf(changes: readonly Change[], { before, after, pointerOf }: States) {
  const rowsIn = (entries: Snapshot['entries'], pointer: States['pointerOf']) =>
    changes.flatMap(({ path }) => {
      const entry = entries.get(path);
      return entry === undefined ? [] : [{ entry, pointer: pointer(path) }];
    });
  return {
    before: Tree.of(rowsIn(before.entries, pointerOf)),
    after: Tree.of(rowsIn(after.entries, () => null)),
  };
}

export type RecordingParts = {
  readonly record: BegunRecord;
  readonly place: string;
  readonly copier: Copier;
  readonly snapshot: Snapshot;
  readonly remove: () => void;
  readonly left: () => void;
  /** Writes the tree once more, with what was copied during the run. */
  readonly again: () => string;
  readonly sweep: () => void;
};

export type Recorded = Pick<Recording, 'finish' | 'close'>;

/** One run that is recorded, from before its start to its end. */
export class Recording {
  readonly #options: RecordingsOptions;
  readonly #parts: RecordingParts;
  #isClosed = false;

  constructor(options: RecordingsOptions, parts: RecordingParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Keeps what the run changed; gives what can be undone of it. */
  async finish(after: Snapshot, changes: readonly Change[], isCompared: boolean): Promise<UndoFacts> {
    try {
      return await this.#finish(after, changes, isCompared);
    } catch {
      return NOT_RECORDED;
    } finally {
      this.close();
    }
  }

  async #finish(after: Snapshot, changes: readonly Change[], isCompared: boolean): Promise<UndoFacts> {
    const { records, clock } = this.#options;
    const { record, place, copier, snapshot, remove, again } = this.#parts;
    await copier.stop();
    if (copier.hasGrown) again();
    if (changes.length > 0) {
      const pointerOf = (path: string) => copier.pointerOf(path);
      const later = records
        .begun()
        .map(({ id }) => id)
        .filter((id) => timeOf(id) > timeOf(record.id));
      const beside = [...new Set([...record.beside, ...later])].filter((id) => id !== record.id);
      const ended = { endedMs: clock.nowMs(), isEndKnown: true, isWhole: isCompared, beside };
      records.keep(place, {
        ...record,
        ...ended,
        ...treesOf(changes, { before: snapshot, after, pointerOf }),
      });
    }
    remove();
    if (copier.newBytes > SWEEP_BYTES) this.#parts.sweep();
    const missing = missingIn(changes, snapshot, copier);
    return factsOf(changes.length, missing, isCompared);
  }

  /** Without an end before it: the record stays for the next gateway to end. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#parts.left();
    this.#parts.copier.release();
  }
}

/** A run of which nothing can be kept. */
export const UNRECORDED: Recorded = { finish: async () => NOT_RECORDED, close: () => undefined };

type Missing = { readonly path: string; readonly why: Miss | 'not a file' };

function missingIn(changes: readonly Change[], { entries }: Snapshot, copier: Copier): readonly Missing[] {
  return changes.flatMap(({ path, change }): readonly Missing[] => {
    const entry = entries.get(path);
    if (change === 'added' || entry === undefined) return [];
    if (['directory', 'symlink'].includes(entry.kind)) return [];
    if (entry.kind !== 'file') return change === 'mode' ? [] : [{ path, why: 'not a file' }];
    if (copier.pointerOf(path) !== null || (change === 'mode' && entry.nlink === 1)) return [];
    return [{ path, why: copier.missOf(path) }];
  });
}

function factsOf(changed: number, missing: readonly Missing[], isCompared: boolean): UndoFacts {
  const isNone = changed > 0 && missing.length === changed;
  const undo: Coverage = isNone ? 'none' : missing.length === 0 && isCompared ? 'whole' : 'in part';
  const told = missing.slice(0, MOST_MISSING).map(({ path, why }) => ({ path, why }));
  const more = missing.length - told.length;
  return {
    output: {
      undo,
      ...(told.length > 0 ? { undoMissing: told } : {}),
      ...(more > 0 ? { moreUndoMissing: more } : {}),
    },
    isolation: { undo },
  };
}
