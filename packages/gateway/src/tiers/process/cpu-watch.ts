import type { RunGroup } from '../cgroup/run-group.ts';

/** More frequent checks are not worth it; a command on all cores of a large machine exceeds its limit by seconds. */
const LOOK_MS = 200;
/** The group counts the launcher and bubblewrap as well, and the launcher's own check is the exact one. */
const BEHIND_MS = 250;

/**
 * Ends a run whose group has used up its CPU time. The launcher adds up live and waited-for processes; the kernel drops
 * the time of children whose parent ignores SIGCHLD, and only the group still has it.
 */
export class CpuWatch {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(group: Pick<RunGroup, 'usage'> | null, cpuMs: number) {
    if (group === null) return;
    this.#timer = setInterval(() => {
      // Boundary: a number that the kernel does not provide limits nothing, but the launcher's own count still does.
      if ((group.usage().cpuUs ?? 0) > (cpuMs + BEHIND_MS) * 1000) this.#controller.abort();
    }, LOOK_MS);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
