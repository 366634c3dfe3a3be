/**
 * Records what commands change, so that it can be undone. Before a command starts, the files that changed since the last
 * run in the workspace are copied; when it has ended, the names that differ are kept with both states. The walks are
 * those that list the changes of a run. Nothing here refuses a command: what could not be copied is told with its end.
 */

import { isWithin } from '../../core/paths.ts';
import { orElse } from '../../core/result.ts';
import { openedPath } from '../../runner/forbidden.ts';
import { takeProtectedSnapshot } from '../workspace/baseline.ts';
import { HeldDirectory, type HeldWorkspace, holdWorkspace } from '../workspace/held-directory.ts';
import { diffSnapshots } from '../workspace/hygiene.ts';
import { demandEnded } from '../workspace/left-runs.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { Copier } from './copier.ts';
import { type Recorded, Recording, type RecordingsOptions, treesOf, UNRECORDED } from './recording.ts';
import type { BegunRecord } from './records.ts';
import { Tree, type TreeRow } from './tree.ts';

export type RecordingRun = {
  readonly id: string;
  readonly tenant: string;
  readonly principal: string;
  readonly command: string;
  readonly workspace: string;
  readonly starter: string;
  readonly held: HeldWorkspace;
  readonly root: HeldDirectory;
  readonly snapshot: Snapshot;
};

type LastTree = { readonly name: string; readonly tree: Tree };

/** Workspaces whose last tree stays in memory: one has about 200 bytes for each file. */
const MOST_TREES = 4;
/** How long the start waits for what tools can make again. */
const HEAVY_WAIT_MS = 200;
/** The bounds are looked at once in a while. */
const SWEEP_EVERY_MS = 10 * 60_000;

export class Recordings {
  readonly #options: RecordingsOptions;
  readonly #running = new Set<string>();
  readonly #trees = new Map<string, LastTree>();

  constructor(options: RecordingsOptions) {
    this.#options = options;
  }

  /** The most bytes that are kept of all workspaces. */
  get totalBytes(): number {
    return this.#options.settings.snapshotTotalBytes;
  }

  /** Whether a command runs now, in any gateway. */
  isRunning(id: string): boolean {
    return this.#options.records.begun().some((run) => run.id === id && this.#isLive(run));
  }

  /** Copies what changed since the last run. Where nothing can be kept, as on a full disk, the end of the run says so. */
  async begin(run: RecordingRun): Promise<Recorded> {
    const { records, clock, settings } = this.#options;
    const { id, tenant, principal, command, workspace, starter, held, root, snapshot } = run;
    let copier: Copier | null = null;
    let remove: () => void = () => undefined;
    try {
      const where = { tenant, principal, workspace, identity: held.identity, born: held.born };
      const place = records.placeOf(where);
      const beside = records.begun().map((each) => each.id);
      const { complete: isWhole, isSparse } = snapshot;
      const about = { ...where, id, command, of: null, starter, beside, isWhole, isSparse };
      // Boundary: from here on the copies are in use, though no tree names them yet, and no undo begins.
      remove = records.begin({ ...about, startedMs: clock.nowMs(), tree: '' });
      this.#running.add(id);
      const last = this.#lastTree(place);
      copier = new Copier({
        root,
        entries: snapshot.entries,
        last: last?.tree ?? null,
        folder: records.pathOf(place),
        id,
        maxBytes: settings.snapshotBytes,
        maxFiles: settings.snapshotFiles,
        fileBytes: settings.snapshotFileBytes,
        nowMs: clock.nowMs,
      });
      const sinceMs = clock.monotonicMs();
      const heavyMs = Math.min(HEAVY_WAIT_MS, settings.snapshotWaitMs);
      await copier.copyUntil(
        (isHeavy) => clock.monotonicMs() - sinceMs >= (isHeavy ? heavyMs : settings.snapshotWaitMs),
      );
      const tree = this.#keepTree(place, { id, copier, snapshot, last });
      const record = { ...about, startedMs: clock.nowMs(), tree };
      records.begin(record);
      copier.copyOn();
      const sweep = () => this.sweep();
      const left = () => void this.#running.delete(id);
      const again = () =>
        this.#keepTree(place, { id: `${id}z`, copier: copier as Copier, snapshot, last: null });
      return new Recording(this.#options, { record, place, copier, snapshot, remove, left, again, sweep });
    } catch {
      copier?.release();
      this.#running.delete(id);
      orElse(() => remove(), undefined);
      return UNRECORDED;
    }
  }

  /** Ends the records of runs that a killed gateway has left: their workspaces are compared with what they were. */
  async settle(): Promise<void> {
    const { records } = this.#options;
    for (const run of records.begun()) {
      if (this.#isLive(run)) continue;
      const begun = records.readBegun(run);
      const isSettled =
        begun === null ||
        (await this.#settleRun(begun).then(
          () => true,
          () => false,
        ));
      if (isSettled) run.remove();
    }
  }

  /** The calls that run now in this workspace, or around or in it, in any gateway. */
  runningIn(workspace: string): readonly string[] {
    const { records } = this.#options;
    return records.begun().flatMap((run) => {
      const other = this.#isLive(run) ? records.readBegun(run)?.workspace : undefined;
      return other !== undefined && (isWithin(other, workspace) || isWithin(workspace, other))
        ? [run.id]
        : [];
    });
  }

  /** Counts an undo among what runs in its workspace; the returned function ends that. */
  enter(record: BegunRecord): () => void {
    const remove = this.#options.records.begin(record);
    this.#running.add(record.id);
    return () => {
      this.#running.delete(record.id);
      remove();
    };
  }

  /** Opens the workspace of a record, if it is the directory that it was and no forbidden place. */
  hold(record: Pick<BegunRecord, 'workspace' | 'identity' | 'born'>): HeldWorkspace {
    const { workspace, identity, born } = record;
    const held = holdWorkspace(workspace);
    try {
      const isSame = held.identity === identity && (born === '' || held.born === '' || born === held.born);
      if (!isSame) throw new Error(`"${workspace}" is another directory now`);
      // Boundary: what has become a forbidden place since is not touched.
      const reason = this.#options.forbidden.againstWorkspace(openedPath(held.fd, workspace));
      if (reason !== null) throw new Error(`"${workspace}" ${reason}`);
      return held;
    } catch (error) {
      held.close();
      throw error;
    }
  }

  /** Removes what is too old or too much, unless that was done a moment ago. */
  sweepIfDue(): void {
    const { records, clock } = this.#options;
    if (records.sweptMsAgo(clock.nowMs()) > SWEEP_EVERY_MS) this.sweep();
  }

  sweep(): void {
    const { records, settings, clock } = this.#options;
    const { snapshotKeepMs: keepMs, snapshotTotalBytes: totalBytes } = settings;
    records.sweep({ keepMs, totalBytes }, clock.nowMs());
  }

  #isLive(run: { readonly instance: string; readonly id: string }): boolean {
    const { records, isGone } = this.#options;
    return records.isOwn(run) ? this.#running.has(run.id) : !isGone(run.instance);
  }

  async #settleRun(begun: BegunRecord): Promise<void> {
    const { records, clock } = this.#options;
    await demandEnded(begun);
    const place = records.placeOf(begun);
    const before = records.readTree(place, begun.tree);
    if (before === null) return;
    const held = this.hold(begun);
    const root = HeldDirectory.of(held.fd);
    try {
      const after = await takeProtectedSnapshot(root, { workspace: begun.workspace });
      const entries = new Map([...before.rows()].map(({ entry }) => [entry.path, entry]));
      const then = { entries, gaps: [], complete: begun.isWhole, isSparse: begun.isSparse };
      const changes = diffSnapshots(then, after);
      const isWhole = begun.isWhole && after.complete && !begun.isSparse && !after.isSparse;
      const pointerOf = (path: string) => before.find(path)?.pointer ?? null;
      const ended = { endedMs: clock.nowMs(), isEndKnown: false, isWhole };
      const trees = treesOf(changes, { before: then, after, pointerOf });
      if (changes.length > 0) records.keep(place, { ...begun, ...ended, ...trees });
    } finally {
      root.close();
      held.close();
    }
  }

  #lastTree(place: string): LastTree | null {
    const { records } = this.#options;
    const known = this.#trees.get(place);
    // Another gateway may have written one since.
    if (known !== undefined && records.lastTreeName(place) === known.name) return known;
    return records.lastTree(place);
  }

  /** Gives the name of the file that has this tree: the last one, where nothing differs. */
  #keepTree(
    place: string,
    { id, copier, snapshot, last }: { id: string; copier: Copier; snapshot: Snapshot; last: LastTree | null },
  ): string {
    const kept =
      last !== null && copier.isSameTree ? last : this.#writeTree(place, id, rowsOf(copier, snapshot));
    this.#trees.delete(place);
    this.#trees.set(place, kept);
    for (const old of [...this.#trees.keys()].slice(0, -MOST_TREES)) this.#trees.delete(old);
    return kept.name;
  }

  #writeTree(place: string, id: string, rows: Iterable<TreeRow>): LastTree {
    const tree = Tree.of(rows);
    return { name: this.#options.records.writeTree(place, id, tree), tree };
  }
}

function* rowsOf(copier: Copier, { entries }: Snapshot): Generator<TreeRow> {
  for (const entry of entries.values())
    yield { entry, pointer: entry.kind === 'file' ? copier.pointerOf(entry.path) : null };
}
