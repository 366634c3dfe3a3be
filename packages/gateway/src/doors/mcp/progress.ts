import type { ProgressToken } from '@modelcontextprotocol/server';
import type { Clock } from '../../core/clock.ts';
import { safeLine } from '../../core/hostile-text.ts';
import type { CallContext } from '../../tiers/tier.ts';

/** How often a client that requested progress gets it. */
const EVERY_MS = 1_000;
/** How often progress of an upstream server is passed on in all, and how many messages may be under way. */
const UPSTREAM_EVERY_MS = 50;
const MOST_AT_ONCE = 10;
const MAX_MESSAGE_CHARS = 1_000;

type Notify = (notification: { method: string; params: Record<string, unknown> }) => Promise<void>;

export type Progress = {
  readonly onOutput: NonNullable<CallContext['onOutput']>;
  /** Takes the progress reports of an upstream server; undefined when the client did not request progress. */
  readonly onProgress: CallContext['onProgress'];
  /** Nothing is reported after this. */
  readonly stop: () => void;
};

const UNTOLD: Progress = { onOutput: () => undefined, onProgress: undefined, stop: () => undefined };

/**
 * Reports once a second how long a call has been running and how much it has printed. What it printed is not sent: the
 * result has it, checked as a whole. If an upstream server reports its own progress, that is sent instead.
 */
export function startProgress(token: ProgressToken | undefined, notify: Notify, clock: Clock): Progress {
  if (token === undefined) return UNTOLD;
  const startedMs = clock.monotonicMs();
  let bytes = 0;
  let sent = Number.NEGATIVE_INFINITY;
  let sending = 0;
  let saidUntilMs = startedMs;
  const send = (progress: number, more: { readonly message?: string; readonly total?: number }) => {
    // A client that does not read gets no long queue of outdated progress, and never progress that goes backwards.
    if (sending >= MOST_AT_ONCE || progress <= sent) return;
    sent = progress;
    sending += 1;
    notify({ method: 'notifications/progress', params: { progressToken: token, progress, ...more } })
      .catch(() => undefined)
      .finally(() => {
        sending -= 1;
      });
  };
  const timer = setInterval(() => {
    const elapsedS = Math.floor(clock.monotonicMs() - startedMs) / 1_000;
    const printed = bytes === 0 ? '' : `, ${bytes} bytes of output so far`;
    send(elapsedS, { message: `Running for ${Math.round(elapsedS)} s${printed}` });
  }, EVERY_MS);
  timer.unref();
  return {
    onOutput: (_stream, chunk) => {
      bytes += chunk.length;
    },
    onProgress: ({ progress, total, message }) => {
      clearInterval(timer);
      // Boundary: an upstream server that reports too often is throttled.
      const nowMs = clock.monotonicMs();
      if (saidUntilMs > nowMs + MOST_AT_ONCE * UPSTREAM_EVERY_MS) return;
      saidUntilMs = Math.max(saidUntilMs, nowMs) + UPSTREAM_EVERY_MS;
      const text = message === null ? {} : { message: safeLine(message, MAX_MESSAGE_CHARS) };
      send(progress, { ...text, ...(total === null ? {} : { total }) });
    },
    stop: () => clearInterval(timer),
  };
}
