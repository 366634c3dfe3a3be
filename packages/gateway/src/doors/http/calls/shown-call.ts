import { CODES } from '@palisade/sdk';
import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Json } from '../../../core/json.ts';
import { parsePrincipal } from '../../../core/principal.ts';
import { receiptOf } from '../../../invoke/finish.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import type { RunningCall } from '../../../invoke/invoke.ts';
import { type KeptResult, readResult } from '../../../results/results.ts';
import { asOfNoTool, isHidden } from '../../hidden-call.ts';
import { isSeen, type Looking } from '../may-see.ts';

/* Calls that run and calls that have ended, as this caller may see them. */

export type FoundCall =
  | { readonly state: 'running'; readonly call: RunningCall }
  | { readonly state: 'ended'; readonly call: KeptResult };

/** The call of that id; one that this caller may not see is not there. */
export function findCall(looking: Looking, callId: string): FoundCall {
  const { gateway } = looking;
  const running = gateway.running.get(callId);
  const kept = running === null ? readResult(gateway.store, callId) : null;
  const seen = running ?? kept;
  // Boundary: what is of another tenant, or of others without leave to read it, is answered as if it were not there.
  if (seen === null || !isSeen(looking, seen)) throw unknownCall(callId);
  if (running !== null) return { state: 'running', call: running };
  return { state: 'ended', call: asKnownTo(looking, seen as KeptResult) };
}

/** The kept result of a call that has ended. */
export function findEnded(looking: Looking, callId: string): KeptResult {
  const found = findCall(looking, callId);
  if (found.state === 'ended') return found.call;
  throw new CodedError('run/unknown', `Cannot show the ending of "${callId}": it has not ended`, {
    remedy: 'Ask again once it has.',
  });
}

export function unknownCall(callId: string): CodedError {
  return new CodedError('run/unknown', `Cannot find call "${callId}": there is none that you may see`);
}

/** What a caller was told of a tool that it may not see stays so when it looks again. */
export function asKnownTo(looking: Looking, kept: KeptResult): KeptResult {
  return isHiddenFrom(looking, kept) ? asOfNoTool(kept) : kept;
}

/** Whether a refusal says what its caller may not know; who may read the journal may know. */
export function isHiddenFrom(looking: Looking, kept: KeptResult): boolean {
  const principal = parsePrincipal(kept.principal);
  if (kept.status !== 'refused' || principal === null || looking.readsAll) return false;
  return isHidden(looking.gateway, { tool: kept.tool, principal, tenant: kept.tenant }, kept);
}

/** A call in a list. */
export function listedDocument(found: FoundCall): Readonly<Record<string, Json>> {
  if (found.state === 'running') {
    const { callId, principal, tool, run, door, startedAtMs } = found.call;
    return { state: 'running', callId, principal, tool, run, door, startedAt: isoTime(startedAtMs) };
  }
  const { callId, principal, tool, run, door, atMs, status, code, remedy, usage, truncated } = found.call;
  const message = status === 'ok' ? CODES.ok.sentence : found.call.message;
  return {
    ...{ state: 'ended', callId, principal, tool, run, door, endedAt: isoTime(atMs) },
    ...{ status, code, message, remedy, usage, truncated },
  };
}

/** All that is kept of a call. */
export function shownDocument(looking: Looking, found: FoundCall): Readonly<Record<string, Json>> {
  const listed = listedDocument(found);
  if (found.state === 'running') return listed;
  const { output, isOutputKept } = found.call;
  return { ...listed, output, isOutputKept, receipt: receiptFor(looking, found.call) };
}

/** The receipt of a call that has ended; null where there is none that its caller may have. */
export function receiptFor(looking: Looking, kept: KeptResult): Json {
  // Boundary: the receipt has what was decided, word for word.
  if (isHiddenFrom(looking, kept)) return null;
  return receiptText(looking.gateway, kept.callId);
}

function receiptText(gateway: Gateway, callId: string): Json {
  const text = receiptOf(gateway, callId);
  return text === null ? null : (JSON.parse(text) as Json);
}
