import type { ToolCall } from '../core/call.ts';
import { refuse } from '../core/outcome.ts';
import { isIdempotencyKey, standingOfKey } from '../results/keys.ts';
import { outcomeOf, readResult } from '../results/results.ts';
import { UNDECIDED } from './admit.ts';
import { appendEnding, type Ended } from './ending.ts';
import { refusalFacts } from './facts.ts';
import type { Line } from './gateway.ts';
import { receiptOf } from './receipt-of.ts';

/**
 * What a call with an idempotency key comes to where the key was used before: the ending of that very call, as it was
 * told; or a refusal. Null: it is new, and runs.
 */
export async function repeated(line: Line, call: ToolCall): Promise<Ended | null> {
  const { idempotencyKey: key } = call;
  if (key === undefined) return null;
  const { store, clock, keep } = line;
  if (!isIdempotencyKey(key)) {
    const message = 'Cannot use the idempotency key: expected 1 to 255 visible characters';
    return turnAway(line, call, refuse('door/invalid-call', message));
  }
  const standing = standingOfKey(store, call, key, clock.nowMs() - keep.keepForMs);
  if (standing.kind === 'free') return null;
  if (standing.kind === 'other') {
    const message = `Cannot run call: its idempotency key was used for another call`;
    return turnAway(line, call, refuse('door/idempotency-conflict', message));
  }
  const kept = readResult(store, standing.callId);
  if (kept === null) {
    const message = `Cannot run call: ${standing.callId} has the same idempotency key and has not ended`;
    return turnAway(line, call, refuse('door/call-open', message));
  }
  const { callId, usage } = kept;
  return {
    kind: 'ended',
    callId,
    outcome: outcomeOf(kept),
    usage,
    receipt: receiptOf(line, callId),
    replayed: true,
  };
}

function turnAway(line: Line, call: ToolCall, outcome: ReturnType<typeof refuse>): Promise<Ended> {
  const facts = refusalFacts(line, call, { checked: null, verdict: UNDECIDED });
  return line.store.commit((tx) => appendEnding(line, tx, facts, { outcome, ran: null, trace: call.trace }));
}
