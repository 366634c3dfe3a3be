import { CODES, isCode } from '../codes.table.ts';
import type { Connection } from './connection.ts';
import { PalisadeError } from './palisade-error.ts';

/*
 * What may be repeated, and when. Only requests that change nothing, or carry an idempotency key, get here; of those,
 * only failures that may be temporary are repeated.
 */

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 10_000;
/** A longer wait is reported instead of waited for. */
const LONGEST_ASKED_WAIT_MS = 60_000;
/** Longer than any call may run. */
const LONGEST_OPEN_MS = 61 * 60_000;
const PASSING = [429, 502, 503, 504];

/** Retries until an attempt succeeds, fails permanently, or the attempts are used up. */
export async function repeat<T>(
  connection: Connection,
  signal: AbortSignal | null,
  attempt: () => Promise<T>,
): Promise<T> {
  const turns = makeTurns(connection, signal);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      await turns.next(error);
    }
  }
}

export type Turns = {
  /** Waits until the next attempt is due; throws the error when there is none. */
  readonly next: (error: unknown) => Promise<void>;
  /** An attempt succeeded: earlier failures no longer count. */
  readonly reset: () => void;
};

/** Counts failures, and waits longer each time. */
export function makeTurns(connection: Connection, signal: AbortSignal | null): Turns {
  let failures = 0;
  let opens = 0;
  let waitedMs = 0;
  return {
    reset() {
      failures = 0;
    },
    async next(error) {
      if (!isPassing(error)) throw error;
      // A call that is still open has not failed: wait for as long as a call can run.
      const isOpen = error.code === 'door/call-open';
      const ms = waitMs(isOpen ? opens++ : failures++, error.retryAfterMs, connection.random);
      if (isOpen) waitedMs += ms;
      if (failures > connection.retries || waitedMs > LONGEST_OPEN_MS || ms > LONGEST_ASKED_WAIT_MS)
        throw error;
      await connection.wait(ms, signal);
    },
  };
}

/** Half of the wait is random, so that many clients do not retry at once. */
function waitMs(turn: number, askedMs: number | null, random: Connection['random']): number {
  const [chance = 0] = random(1);
  const wholeMs = Math.min(FIRST_WAIT_MS * 2 ** turn, LONGEST_WAIT_MS);
  const ms = Math.round(wholeMs / 2 + (wholeMs / 2) * (chance / 255));
  return Math.max(ms, askedMs ?? 0);
}

/** Whether the same request may succeed in a moment. */
export function isPassing(error: unknown): error is PalisadeError {
  if (!(error instanceof PalisadeError)) return false;
  const { code, status } = error;
  if (code === 'client/unreachable' || code === 'client/timed-out' || code === 'door/call-open') return true;
  // How a call ended is not a transport error: the same key gives the same ending again.
  if (isCode(code) && (CODES[code].kind === 'refused' || CODES[code].kind === 'failed')) return false;
  return status !== null && PASSING.includes(status);
}
