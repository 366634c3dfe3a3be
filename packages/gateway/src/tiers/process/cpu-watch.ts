import type { RunGroup } from '../cgroup/run-group.ts';

/** Not each look is worth a wake-up; a command with all processors of a large machine passes its limit by a few seconds. */
const LOOK_MS = 200;
/** The group counts the launcher and bubblewrap as well, and the launcher's own look is the exact one. */
const BEHIND_MS = 250;

/**
 * Ends a run whose group has used up its processor time. The launcher adds up what lives and what was waited for; the
 * kernel forgets the time of children whose parent ignores SIGCHLD, and only the group still has it.
 */
export class CpuWatch {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(group: Pick<RunGroup, 'usage'> | null, cpuMs: number) {
    if (group === null) return;
    this.#timer = setInterval(() => {
      // Boundary: a number that the kernel does not give limits nothing, and the launcher's own count still does.
      if ((group.usage().cpuUs ?? 0) > (cpuMs + BEHIND_MS) * 1000) this.#controller.abort();
    }, LOOK_MS);
  }

  /** Aborted once the time is used up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
