import { orElse } from '../../core/result.ts';
import type { RunContext } from '../tier.ts';

const LOOK_MS = 1_000;

/** Fires when a command that outlives its call is no longer permitted: a forbid that was added since then counts. */
export class PolicyWatch {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor({ dialogue, stillPermitted }: RunContext) {
    // Other commands end soon, and sessions with upstream servers are ended by what uses them.
    if (dialogue === undefined || dialogue.isServer) return;
    this.#timer = setInterval(() => {
      // Boundary: policies that cannot be evaluated do not permit.
      if (!orElse(stillPermitted, false)) this.#controller.abort();
    }, LOOK_MS);
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
