import { CODES } from '@palisade/sdk';
import type { CallLog } from '../core/call-log.ts';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Json } from '../core/json.ts';
import { pick } from '../core/pick.ts';
import { formatPrincipal, parsePrincipal } from '../core/principal.ts';
import { requireAdministrator } from '../invoke/administer.ts';
import { receiptOf } from '../invoke/finish.ts';
import type { RunningCall } from '../invoke/invoke.ts';
import { readLog } from '../results/call-logs.ts';
import { type KeptResult, listResults, readResult } from '../results/results.ts';
import type { Reader } from '../store/transaction.ts';
import { isHiddenCall, isOwn, isSeen, type OperationCaller, type View, viewOf } from './access.ts';
import { noSuchTool } from './caller-document.ts';
import type { OpenedGateway } from './operation.ts';

/* Calls that run and calls that have ended, as a caller may see them. */

/** A caller that reads calls; its view is determined once. */
export type CallReader = {
  readonly gateway: OpenedGateway;
  readonly caller: OperationCaller;
  readonly view: View;
};

type FoundCall =
  | { readonly state: 'running'; readonly call: RunningCall }
  | { readonly state: 'ended'; readonly call: KeptResult };

/** The caller as a reader of its own calls, and of those of others where it may read them. */
export function callReader({ gateway, caller }: Omit<CallReader, 'view'>): CallReader {
  const view = viewOf({ gateway, caller }, { any: ['call', 'read'], forAll: ['read'] });
  return { gateway, caller, view };
}

/** The caller as a reader of its own calls alone, whatever else it may read. */
export function ownCallReader({ gateway, caller }: Omit<CallReader, 'view'>): CallReader {
  const view = { tenant: caller.tenant, principal: formatPrincipal(caller.principal) };
  return { gateway, caller, view };
}

/** The call of that id; one that this caller may not see does not exist. */
export function findCall(reader: CallReader, callId: string): FoundCall {
  const { gateway, view } = reader;
  const running = gateway.running.get(callId);
  const kept = running === null ? readResult(gateway.store, callId) : null;
  const found = running ?? kept;
  // Boundary: a call of another tenant, or of others without permission to read it, is answered as if it did not exist.
  if (found === null || !isSeen(view, found)) throw unknownCall(callId);
  if (running !== null) return { state: 'running', call: running };
  return { state: 'ended', call: asKnownTo(reader, found as KeptResult) };
}

/** The stored result of a call that has ended; null where none exists for this reader. */
export function keptCall(reader: CallReader, callId: string): KeptResult | null {
  const kept = readResult(reader.gateway.store, callId);
  return kept === null || !isSeen(reader.view, kept) ? null : asKnownTo(reader, kept);
}

/** The stored result of a call that has ended. */
export function findEnded(reader: CallReader, callId: string): KeptResult {
  const found = findCall(reader, callId);
  if (found.state === 'ended') return found.call;
  throw new CodedError('run/unknown', `Cannot show the ending of "${callId}": it has not ended`, {
    remedy: 'Try again once it has.',
  });
}

function unknownCall(callId: string): CodedError {
  return new CodedError('run/unknown', `Cannot find call "${callId}": no call that you may see has this id`);
}

type CallsWanted = {
  /** Left out: both. */
  readonly state?: 'running' | 'ended' | undefined;
  readonly run?: string | undefined;
  /** The id of the last call of the page before. */
  readonly cursor?: string | undefined;
  readonly limit: number;
};

type CallPage = { readonly calls: readonly FoundCall[]; readonly cursor: string | null };

/** A page of calls, the newest first. A call that ends between two pages is neither lost nor shown twice. */
export function listCalls(reader: CallReader, wanted: CallsWanted): CallPage {
  const kept = wanted.state === 'running' ? [] : listEndedCalls(reader, wanted);
  const ended = kept.map((call): FoundCall => ({ state: 'ended', call }));
  const known = new Set(kept.map(({ callId }) => callId));
  const running = wanted.state === 'ended' ? [] : runningCalls(reader, wanted);
  const calls = [...running.filter(({ call }) => !known.has(call.callId)), ...ended]
    .sort((a, b) => (a.call.callId < b.call.callId ? 1 : -1))
    .slice(0, wanted.limit);
  const cursor = calls.length < wanted.limit ? null : (calls.at(-1)?.call.callId ?? null);
  return { calls, cursor };
}

/** Calls that have ended, the newest first. */
export function listEndedCalls(
  reader: CallReader,
  { run, cursor, limit }: Omit<CallsWanted, 'state'>,
): readonly KeptResult[] {
  const { gateway, caller, view } = reader;
  const tenant = view.tenant ?? caller.tenant;
  const page = { tenant, principal: view.principal, after: cursor ?? null, limit };
  const found = listResults(gateway.store, run === undefined ? page : { ...page, run });
  return found.map((kept) => asKnownTo(reader, kept));
}

function runningCalls({ gateway, view }: CallReader, { run, cursor }: CallsWanted): readonly FoundCall[] {
  return gateway.running
    .list()
    .filter((call) => isSeen(view, call))
    .filter((call) => run === undefined || call.run === run || call.session === run)
    .filter((call) => cursor === undefined || call.callId < cursor)
    .map((call) => ({ state: 'running', call }));
}

/** A call of a tool that its caller may not see looks like one of a missing tool later as well. */
function asKnownTo(reader: CallReader, kept: KeptResult): KeptResult {
  if (!isHiddenFrom(reader, kept)) return kept;
  const { remedy } = CODES['registry/unknown-tool'];
  return { ...kept, code: 'registry/unknown-tool', message: noSuchTool(kept.tool), remedy };
}

/** Whether a refusal reveals what its reader may not know; a reader of the journal may know. */
export function isHiddenFrom({ gateway, view }: CallReader, kept: KeptResult): boolean {
  const principal = parsePrincipal(kept.principal);
  if (kept.status !== 'refused' || principal === null || view.principal === null) return false;
  return isHiddenCall(gateway, { tool: kept.tool, principal, tenant: kept.tenant }, kept);
}

/** The receipt of a call that has ended, as JSON text; null where it has none that its reader may have. */
export function receiptFor(reader: CallReader, kept: KeptResult): string | null {
  // Boundary: the receipt contains the decision verbatim.
  return isHiddenFrom(reader, kept) ? null : receiptOf(reader.gateway, kept.callId);
}

/** A call in a list. */
export function listedDocument({ state, call }: FoundCall): Readonly<Record<string, Json>> {
  const facts = { state, ...pick(call, ['callId', 'principal', 'tool', 'run', 'session', 'door']) };
  if (state === 'running') return { ...facts, startedAt: isoTime(call.startedAtMs) };
  const { status, code, remedy, usage, truncated } = call;
  const message = status === 'ok' ? CODES.ok.sentence : call.message;
  return { ...facts, endedAt: isoTime(call.atMs), status, code, message, remedy, usage, truncated };
}

/** The log of a call that its reader may see; an empty one where none is kept. */
export function logOf(reader: Reader, callId: string): CallLog {
  return readLog(reader, callId) ?? { lines: [], isCut: false, denied: [], deniedMore: 0, trap: [] };
}

/** Everything that is stored of a call. */
export function shownDocument(reader: CallReader, found: FoundCall): Readonly<Record<string, Json>> {
  const listed = listedDocument(found);
  if (found.state === 'running') return listed;
  const { output, isOutputKept } = found.call;
  const receipt = receiptFor(reader, found.call);
  return { ...listed, output, isOutputKept, receipt: receipt === null ? null : JSON.parse(receipt) };
}

/**
 * Cancels a call of the caller, wherever on the line it is; calls of others need the admin scope. The call is recorded
 * and settled like every other, so this returns before it has ended. A call that has ended stays as it is.
 */
export function cancelCall(reader: CallReader, callId: string) {
  const { gateway, caller } = reader;
  const found = findCall(reader, callId);
  if (found.state === 'ended') return { callId, cancelled: false };
  if (!isOwn(caller, found.call)) {
    // Boundary: permission to see a call is not permission to cancel it.
    if (!caller.scopes.has('admin')) throw unknownCall(callId);
    requireAdministrator(gateway, caller.principal, caller.tenant);
  }
  return { callId, cancelled: gateway.running.cancel(callId) };
}
