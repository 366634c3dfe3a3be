import { canonicalize } from '@palisade/sdk';
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';
import { type Limits, NO_USAGE } from '../../core/limits.ts';
import { type FailedCode, isFailedCode } from '../../core/outcome.ts';
import { spend } from '../../policy/authorize.ts';
import type { RunEnding, Tier } from '../tier.ts';

/*
 * Runs our own tools inside the gateway. This is not a sandbox, and the receipt says so: the code is trusted, and only
 * its time and output size are limited. CPU time is shared with the gateway and therefore not counted.
 */

/** Which limits are enforced and which usage is counted; the others in a receipt of these tools are not facts. */
const ACHIEVED = {
  boundary: 'none',
  process: 'gateway',
  held: 'wallMs outputBytes',
  counted: 'calls wallMs outputBytes',
} as const;

const TIMED_OUT = Symbol('timed out');

export function builtinTier(clock: Clock, version: string): Tier {
  return {
    run: async (grant, limits, { signal }) => {
      const checked = spend(grant);
      const startedMs = clock.monotonicMs();
      const ending = await runWithin(checked, limits, signal);
      const outputBytes = ending.output === null ? 0 : Buffer.byteLength(canonicalize(ending.output));
      const wallMs = Math.ceil(clock.monotonicMs() - startedMs);
      return {
        ending,
        usage: { ...NO_USAGE, calls: 1, wallMs, outputBytes },
        execution: {
          tier: 'builtin',
          executor: `${checked.tool.id}@${version}`,
          isolation: ACHIEVED,
        },
      };
    },
  };
}

async function runWithin(checked: CheckedCall, limits: Limits, signal: AbortSignal): Promise<RunEnding> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(TIMED_OUT), limits.wallMs);
  const stop = AbortSignal.any([signal, timeout.signal]);
  try {
    return withinOutput(await orStopped(checked, stop), limits.outputBytes);
  } catch (error) {
    return endingOf(error, stop, limits);
  } finally {
    clearTimeout(timer);
  }
}

/** A tool that ignores its signal cannot block the call. */
function orStopped({ tool, input, call }: CheckedCall, stop: AbortSignal): Promise<Json> {
  return new Promise((resolve, reject) => {
    if (stop.aborted) return reject(stop.reason);
    stop.addEventListener('abort', () => reject(stop.reason), { once: true });
    const { executor } = tool;
    if (executor.kind !== 'builtin') throw new TypeError(`Cannot run ${tool.id}: it is not a built-in tool`);
    executor.run(input, stop, call).then(resolve, reject);
  });
}

function endingOf(error: unknown, stop: AbortSignal, limits: Limits): RunEnding {
  const failed = (code: FailedCode, why: string): RunEnding => {
    return { status: 'failed', code, message: `Cannot finish call: ${why}`, output: null, truncated: false };
  };
  if (stop.aborted && stop.reason === TIMED_OUT) {
    return failed('tier/timed-out', `it passed its limit of ${limits.wallMs} ms`);
  }
  if (stop.aborted) return failed('tier/cancelled', 'the caller cancelled it');
  // A tool that knows a better code or remedy than the one below throws it.
  if (error instanceof CodedError && isFailedCode(error.code)) {
    const { code, message, remedy } = error;
    return { status: 'failed', code, message, remedy, output: null, truncated: false };
  }
  const why = error instanceof Error ? error.message : String(error);
  return failed('tier/tool-error', `the tool reported "${why}"`);
}

function withinOutput(output: Json, outputBytes: number): RunEnding {
  const text = canonicalize(output);
  const bytes = Buffer.byteLength(text);
  if (bytes <= outputBytes) return { status: 'ok', output };
  const message = `Cannot return output: it has ${bytes} bytes, expected at most ${outputBytes}`;
  return {
    status: 'failed',
    code: 'tier/output-exceeded',
    message,
    output: beginningOf(text, outputBytes),
    truncated: true,
  };
}

/** As much of a canonical text as fits into `maxBytes` when it is encoded as a string; null when nothing fits. */
function beginningOf(text: string, maxBytes: number): string | null {
  let bytes = '""'.length;
  if (bytes > maxBytes) return null;
  let end = 0;
  for (const char of text) {
    // Canonical text contains no control characters: only these two are escaped again.
    bytes += char === '"' || char === '\\' ? 2 : Buffer.byteLength(char);
    if (bytes > maxBytes) break;
    end += char.length;
  }
  return text.slice(0, end);
}
