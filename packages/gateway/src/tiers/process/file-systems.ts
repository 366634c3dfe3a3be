/**
 * Where a gateway that is root can run commands. They get another user, who can work only where the kernel maps the owner
 * of the files to it, and not every file system can do that. Which can is found out by a trial in the first workspace on
 * each, before a call is recorded as begun.
 */
import { statfsSync, statSync } from 'node:fs';
import type { Clock } from '../../core/clock.ts';
import type { Lack } from './machine.ts';
import type { Trial } from './trial.ts';

const OF_WORKSPACE = 'workspace-';

/** Those that have done it since the first kernels that could, by the number that statfs(2) gives: ext4, xfs, btrfs. */
const KNOWN = [0xef53, 0x5846_5342, 0x9123_683e];

/** What is missing is looked for again after this long, so that a fix counts without a restart. */
const AGAIN_AFTER_MS = 5_000;

type Known = { readonly lack: Promise<Lack | null>; readonly atMs: number };

export class FileSystems {
  readonly #clock: Clock;
  /** By device: what the last trial on it gave, or will give. */
  readonly #tried = new Map<number, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why commands cannot work in this directory; null where they can, or where the trial found another fault. */
  async lackOf(workspace: string, tryThere: () => Promise<Trial>): Promise<Lack | null> {
    const device = statSync(workspace, { throwIfNoEntry: false })?.dev;
    // What the number says is not the last word: where it does not hold, the run does not start.
    if (device === undefined || KNOWN.includes(statfsSync(workspace).type)) return null;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#tried.get(device);
    // Boundary: whoever may call anything could have one trial after the other made; there is one at a time.
    if (known !== undefined && nowMs - known.atMs < AGAIN_AFTER_MS) return known.lack;
    const trial = tryThere();
    const lack = trial.then((made) => lackIn(made, workspace));
    this.#tried.set(device, { lack, atMs: nowMs });
    // What was seen to hold is not asked again; a trial that another fault ended has seen nothing.
    if ((await trial).ok) this.#tried.set(device, { lack, atMs: Number.POSITIVE_INFINITY });
    return lack;
  }
}

function lackIn(trial: Trial, workspace: string): Lack | null {
  if (trial.ok || trial.fault?.step.startsWith(OF_WORKSPACE) !== true) return null;
  return { ok: false, why: `"${workspace}" cannot be given to another user: ${trial.why}`, fix: trial.fix };
}
