/**
 * Where a gateway that is root can run commands. They get another user, who can work only where the kernel maps the owner
 * of the files to it, and not every file system can do that. Which can is found out by a trial in the first workspace on
 * each, before a call is recorded as begun.
 */
import { statfsSync, statSync } from 'node:fs';
import type { Lack } from './machine.ts';
import type { Trial } from './trial.ts';

const OF_WORKSPACE = 'workspace-';

/** Those that have done it since the first kernels that could, by the number that statfs(2) gives: ext4, xfs, btrfs. */
const KNOWN = [0xef53, 0x5846_5342, 0x9123_683e];

export class FileSystems {
  /** By device: those that were tried and can be used. */
  readonly #usable = new Set<number>();

  /** Why commands cannot work in this directory; null where they can, or where the trial found another fault. */
  async lackOf(workspace: string, tryThere: () => Promise<Trial>): Promise<Lack | null> {
    const device = statSync(workspace, { throwIfNoEntry: false })?.dev;
    if (device === undefined || this.#usable.has(device)) return null;
    // What they say is not the last word: where it does not hold, the run does not start.
    if (KNOWN.includes(statfsSync(workspace).type)) return null;
    const trial = await tryThere();
    if (!trial.ok && trial.fault?.step.startsWith(OF_WORKSPACE)) {
      return {
        ok: false,
        why: `"${workspace}" cannot be given to another user: ${trial.why}`,
        fix: trial.fix,
      };
    }
    if (trial.ok) this.#usable.add(device);
    return null;
  }
}
