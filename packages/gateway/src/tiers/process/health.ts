import { statfsSync, statSync } from 'node:fs';
import type { Clock } from '../../core/clock.ts';
import type { Found, Lack, Probed } from './tier.ts';
import type { Trial } from './trial.ts';

/** What is missing is looked for again after this long, so that a fix counts without a restart. */
const AGAIN_AFTER_MS = 5_000;

type TierHealthParts = {
  readonly clock: Clock;
  readonly probe: () => Promise<Probed>;
  readonly tryTier: (found: Found) => Promise<Trial>;
};

/**
 * Whether a tier can be used: found out at the first call, and tried when a run could not be set up. A tier that holds
 * is asked nothing more; each run proves itself anyway.
 */
export class TierHealth {
  readonly #parts: TierHealthParts;
  #looked: Promise<Probed> | null = null;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #isSettled = false;
  #isDoubted = false;
  #last: Found | null = null;

  constructor(parts: TierHealthParts) {
    this.#parts = parts;
  }

  /** What the tier is now; a lack comes with its fix. */
  look(): Promise<Probed> {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#looked !== null && (this.#isSettled || nowMs - this.#lookedAtMs < AGAIN_AFTER_MS))
      return this.#looked;
    this.#lookedAtMs = nowMs;
    this.#looked = this.#find();
    return this.#looked;
  }

  /** The tier as it was found last, for a call that was not refused. */
  get found(): Found {
    if (this.#last === null) throw new TypeError('Cannot use the tier: it was not probed');
    return this.#last;
  }

  /** A run could not be set up: before the next one the tier is tried. */
  doubt(): void {
    // Boundary: commands that fail on purpose make the tier be tried once in a while, not with every call.
    this.#lookedAtMs = this.#triedAtMs;
    this.#isDoubted = true;
    this.#isSettled = false;
  }

  async #find(): Promise<Probed> {
    const found = await this.#parts.probe();
    if (!found.ok) return found;
    if (this.#isDoubted) {
      this.#triedAtMs = this.#lookedAtMs;
      const trial = await this.#parts.tryTier(found);
      if (!trial.ok) return { ok: false, why: trial.why, fix: trial.fix };
    }
    this.#isDoubted = false;
    this.#isSettled = true;
    this.#last = found;
    return found;
  }
}

const OF_WORKSPACE = 'workspace-';

/** Those that have done it since the first kernels that could, by the number that statfs(2) gives: ext4, xfs, btrfs. */
const KNOWN = [0xef53, 0x5846_5342, 0x9123_683e];

type Known = { readonly lack: Promise<Lack | null>; readonly atMs: number };

/**
 * Where a gateway that is root can run commands. They get another user, who can work only where the kernel maps the owner
 * of the files to it, and not every file system can do that. Which can is found out by a trial in the first workspace on
 * each, before a call is recorded as begun.
 */
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
    // Boundary: a caller could cause one trial after the other; there is one at a time.
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
