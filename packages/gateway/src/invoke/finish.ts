import { settle } from '../budget/settle.ts';
import { CodedError } from '../core/coded-error.ts';
import { fail, type Outcome } from '../core/outcome.ts';
import { type Packed, pack, saveRecording } from '../recordings/recordings.ts';
import type { Execution, RunResult } from '../tiers/tier.ts';
import type { Begun } from './begin.ts';
import { appendEnding, type Ended } from './ending.ts';
import type { Line } from './gateway.ts';

/** A disk or a lock may come back; a run that happened is worth waiting for. */
const ATTEMPTS = 5;
const PAUSE_MS = 200;
const LATER_MS = 5000;
const LATER_ATTEMPTS = 720;

const UNSAVED = 'none: it could not be saved';

/**
 * One transaction: the budgets are settled with what was really used, the recording is kept, the receipt is signed, the
 * intent is closed. The receipt has the digest of the recording, so both are written together or neither is: there is no
 * receipt that promises a recording which was never there. The ending is worth waiting for, the recording is not: it is
 * compressed before, tried once, and whatever fails then, the attempts after that write an ending whose receipt says that
 * there is none.
 */
export async function finish(line: Line, begun: Begun, result: RunResult): Promise<Ended> {
  const { ending, usage, egress = null } = result;
  const outcome: Outcome =
    ending.status === 'ok'
      ? { status: 'ok', code: 'ok', output: ending.output, usage }
      : fail(ending.code, ending.message, { output: ending.output, truncated: ending.truncated, usage });
  const packed = result.recorded === undefined ? null : await pack(result.recorded).catch(() => null);
  const recordWith = (recording: Packed | null) =>
    line.store.commit((tx) => {
      settle(tx, begun.facts.call.id, usage);
      if (recording !== null) saveRecording(tx, begun.facts.call.id, recording);
      const ran = { startedAt: begun.startedAt, execution: executionOf(result, recording) };
      const { trace } = begun.grant.call.call;
      return appendEnding(line, tx, begun.facts, { outcome, ran, egress, trace });
    });
  for (let attempt = 1; ; attempt++) {
    try {
      return await recordWith(attempt === 1 ? packed : null);
    } catch (error) {
      if (attempt === ATTEMPTS) {
        recordLater(() => recordWith(null), LATER_ATTEMPTS);
        return unrecorded(begun, result, error);
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Where it ran, and by which digest its recording is known. */
function executionOf({ execution, recorded }: RunResult, saved: Packed | null): Execution {
  if (recorded === undefined) return execution;
  return { ...execution, isolation: { ...execution.isolation, recording: saved?.digest ?? UNSAVED } };
}

/** A gateway that lives on closes the call itself once it can; one that ends leaves it to the next. */
function recordLater(record: () => Promise<Ended>, attempts: number): void {
  if (attempts === 0) return;
  const again = () => record().catch(() => recordLater(record, attempts - 1));
  setTimeout(again, LATER_MS).unref();
}

/** It ran, but its ending could not be written: the next start will record it as unknown, and so we call it here. */
function unrecorded({ facts }: Begun, { ending, usage }: RunResult, error: unknown): Ended {
  const why = error instanceof CodedError ? error.message : 'the gateway broke';
  const remedy = error instanceof CodedError ? error.remedy : undefined;
  const message = `Cannot record the ending of the call, which ran: ${why}`;
  const truncated = ending.status === 'failed' && ending.truncated;
  const facts_ = { output: ending.output, truncated, usage, ...(remedy === undefined ? {} : { remedy }) };
  const outcome = fail('tier/unknown-ending', message, facts_);
  return { kind: 'ended', callId: facts.call.id, outcome, usage, receipt: null };
}
