/**
 * Restores the protected files of workspaces whose gateway was killed during a run, as that gateway would have at the
 * end of the run. It happens when a gateway starts, and before a run in such a workspace, so that no run takes what was
 * planted for the state before it. The workspace has to be the same directory as then, reached without links and none
 * of the forbidden places; and nothing is restored before all processes of the dead run have ended.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '../../core/coded-error.ts';
import { orElse } from '../../core/result.ts';
import { type ForbiddenPlaces, openedPath } from '../../runner/forbidden.ts';
import { type Baseline, FRESH_MS, takeProtectedSnapshot } from './baseline.ts';
import { HeldDirectory, type HeldWorkspace, holdAgain } from './held-directory.ts';
import type { Finding } from './hygiene.ts';
import { type OtherRun, overlap } from './overlaps.ts';
import { quarantineOf } from './quarantine.ts';
import type { KeptRun, RunFileName, RunFiles } from './run-files.ts';
import { setAside } from './set-aside.ts';

/** What became of a run that a killed gateway has left. */
export type LeftRun = {
  readonly file: string;
  readonly call: string | null;
  readonly workspace: string | null;
} & (Restored | { readonly kind: 'workspace-not-restored'; readonly why: string });

type Restored = {
  readonly kind: 'workspace-restored';
  readonly findings: readonly Finding[];
  /** Whether everything could be looked at and restored. */
  readonly isWhole: boolean;
};

export type LeftRunsOptions = {
  readonly files: RunFiles;
  readonly isGone: (instance: string) => boolean;
  readonly forbidden: Pick<ForbiddenPlaces, 'againstWorkspace'>;
  /** The folder for what runs wrote to protected files. */
  readonly quarantine: string;
  /** Ends the groups of processes that dead gateways have left. */
  readonly endGroups: () => Promise<unknown>;
  readonly onLeft: (run: LeftRun) => void;
};

/** The starter ends its tree within milliseconds, unless a process waits for a device. */
const END_AT_MOST_MS = 5_000;
const LOOK_AGAIN_MS = 10;

export class LeftRuns {
  readonly #options: LeftRunsOptions;
  /** One after the other: they may be of one workspace. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LeftRunsOptions) {
    this.#options = options;
  }

  /** Restores what dead gateways have left, or reports why not. */
  async restoreAll(): Promise<void> {
    const { files, isGone } = this.#options;
    files.sweep(isGone);
    for (const file of this.#leftOf(files.list())) await this.#restore(file, null);
  }

  /**
   * Restores what is left in this workspace, or throws where it cannot. Returns the baseline of another gateway that has
   * a run there now: its command may already have planted something.
   */
  async settle(held: HeldWorkspace, workspace: string): Promise<Baseline | null> {
    const found = this.#options.files.list();
    if (found.length === 0) return null;
    for (const file of this.#leftOf(found)) {
      const isHere = this.#runIn(held, file) !== null;
      if (!isHere && !overlaps(this.#read(file), workspace)) continue;
      const why = await this.#restore(file, isHere ? workspace : null);
      if (why !== null) throw unsettled(why);
    }
    return this.baselineIn(held);
  }

  /** The runs that other gateways have in workspaces around and in this one. */
  othersAround(held: HeldWorkspace, workspace: string): readonly OtherRun[] {
    const { files } = this.#options;
    return files.list().flatMap((file) => {
      const run = files.isOwn(file) || file.identity === held.identity ? null : this.#read(file);
      return run !== null && overlaps(run, workspace) ? [run] : [];
    });
  }

  /** The baseline of a run that another gateway has in this workspace. */
  baselineIn(held: HeldWorkspace): Baseline | null {
    const { files } = this.#options;
    const others = files.list().filter((file) => !files.isOwn(file));
    for (const file of others) {
      const run = this.#runIn(held, file);
      if (run !== null) return run.baseline;
    }
    return null;
  }

  /** Keeps a run until it has ended; the returned function is called then. */
  keep(run: KeptRun): () => void {
    return this.#options.files.keep(run);
  }

  /** What cannot be read is reported at the start; a refusal would not bring back what it said. */
  #runIn(held: HeldWorkspace, file: RunFileName): KeptRun | null {
    if (file.identity !== held.identity) return null;
    const run = this.#read(file);
    return run !== null && isSameAge(run, held) ? run : null;
  }

  #read(file: RunFileName): KeptRun | null {
    return orElse(() => this.#options.files.read(file), null);
  }

  /** Those of runs that no gateway has any more. */
  #leftOf(found: readonly RunFileName[]): readonly RunFileName[] {
    const { files, isGone } = this.#options;
    const gone = [...new Set(found.map(({ instance }) => instance))].filter(isGone);
    return found.filter((file) => files.isOwn(file) || gone.includes(file.instance));
  }

  /** Returns why it could not; null where it is restored, or another gateway does it. */
  async #restore(file: RunFileName, workspace: string | null): Promise<string | null> {
    const done = this.#turn.then(() => this.#restoreNow(file, workspace));
    this.#turn = done;
    return done;
  }

  async #restoreNow(file: RunFileName, movedTo: string | null): Promise<string | null> {
    const { files, endGroups, onLeft } = this.#options;
    let left: Pick<LeftRun, 'file' | 'call' | 'workspace'> = {
      file: file.name,
      call: null,
      workspace: movedTo,
    };
    try {
      const run = files.read(file);
      const own = run === null ? null : files.takeOver(file, run.call);
      if (run === null || own === null) return null;
      const workspace = movedTo ?? run.workspace;
      left = { file: own.name, call: run.call, workspace };
      await endGroups();
      await demandEnded(run);
      const restored = await this.#takeBack(run, workspace);
      if (restored !== null) onLeft({ kind: 'workspace-restored', ...left, ...restored });
      files.remove(own);
      return null;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      onLeft({ kind: 'workspace-not-restored', ...left, why });
      return why;
    }
  }

  /** Null where the directory does not exist any more and another one has its number. */
  async #takeBack({ call, identity, born, allowed, takenMs, baseline }: KeptRun, workspace: string) {
    const sinceNs = BigInt(takenMs - FRESH_MS) * 1_000_000n;
    const held = holdAgain(workspace, { identity, sinceNs });
    let root: HeldDirectory | null = null;
    try {
      if (held.identity !== identity) throw new Error(`"${workspace}" is another directory now`);
      if (!isSameAge({ born }, held)) return null;
      // Boundary: what has become a forbidden place since is not touched.
      const reason = this.#options.forbidden.againstWorkspace(openedPath(held.fd, workspace));
      if (reason !== null) throw new Error(`"${workspace}" ${reason}`);
      root = HeldDirectory.of(held.fd);
      // A directory that was closed since the run began is opened again.
      const unlocks = (_: string, { ctimeNs }: { readonly ctimeNs: bigint }) => ctimeNs >= sinceNs;
      const after = await takeProtectedSnapshot(root, { workspace, baseline, unlocks });
      const keep = quarantineOf(this.#options.quarantine, call);
      const { findings } = await setAside(
        { root, workspace, baseline, allowed, mayChange: true, keep },
        after,
      );
      return { findings, isWhole: after.complete && !findings.some(({ why }) => why === 'not-held') };
    } finally {
      root?.close();
      held.close();
    }
  }
}

function overlaps(run: KeptRun | null, workspace: string): boolean {
  return run !== null && overlap(run.workspace, workspace);
}

/** Directories get the numbers of those that were removed, but not their age; not every file system knows it. */
function isSameAge(then: Pick<KeptRun, 'born'>, now: Pick<HeldWorkspace, 'born'>): boolean {
  return then.born === '' || now.born === '' || then.born === now.born;
}

function unsettled(why: string): CodedError {
  const message = `Cannot start command: protected files of its workspace are still as a killed gateway left them (${why})`;
  const remedy =
    'Call again in a moment; `palisade journal search --kind workspace-not-restored` tells more.';
  return new CodedError('tier/not-started', message, { remedy });
}

/** Boundary: nothing is restored while a process of the run could write it again. */
export async function demandEnded({ starter }: Pick<KeptRun, 'starter'>): Promise<void> {
  for (let waitedMs = 0; isAlive(starter); waitedMs += LOOK_AGAIN_MS) {
    const [pid] = starter.split(':');
    if (waitedMs >= END_AT_MOST_MS) throw new Error(`process ${pid} of the run has not ended; end it`);
    await sleep(LOOK_AGAIN_MS);
  }
}

/** The process as the kernel tells it from all others: its pid and its start; empty where there is none. */
export function processIdentity(pid: number | null): string {
  const [state, start] = pid === null ? [] : factsOfProcess(pid);
  return state === undefined ? '' : `${pid}:${start}`;
}

function isAlive(identity: string): boolean {
  const [pid, start] = identity.split(':');
  const [state, startNow] = factsOfProcess(Number(pid));
  // One that has ended and that no one has waited for holds nothing any more.
  return start !== undefined && state !== undefined && startNow === start && !/[ZX]/.test(state);
}

const STATE_FIELD = 0;
const START_FIELD = 19;

function factsOfProcess(pid: number): readonly [state?: string, start?: string] {
  const text = orElse(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '');
  // The name before may contain anything, parentheses included.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return text === '' ? [] : [fields[STATE_FIELD] ?? '', fields[START_FIELD] ?? ''];
}
