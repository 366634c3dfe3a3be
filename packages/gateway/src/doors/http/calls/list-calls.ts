import { formatPrincipal } from '../../../core/principal.ts';
import { listResults } from '../../../results/results.ts';
import { isSeen, type Looking } from '../may-see.ts';
import { asKnownTo, type FoundCall } from './shown-call.ts';

export type CallsWanted = {
  /** Left out: both. */
  readonly state?: 'running' | 'ended' | undefined;
  readonly run?: string | undefined;
  /** The id of the last call of the page before. */
  readonly cursor?: string | undefined;
  readonly limit: number;
};

export type CallsPage = { readonly calls: readonly FoundCall[]; readonly cursor: string | null };

/** A page of the calls that this caller may see, the newest first. One that ends meanwhile is neither lost nor shown twice. */
export function listCalls(looking: Looking, wanted: CallsWanted): CallsPage {
  const ended = wanted.state === 'running' ? [] : endedCalls(looking, wanted);
  const known = new Set(ended.map(({ call }) => call.callId));
  const running = wanted.state === 'ended' ? [] : runningCalls(looking, wanted);
  const calls = [...running.filter(({ call }) => !known.has(call.callId)), ...ended]
    .sort((a, b) => (a.call.callId < b.call.callId ? 1 : -1))
    .slice(0, wanted.limit);
  const cursor = calls.length < wanted.limit ? null : (calls.at(-1)?.call.callId ?? null);
  return { calls, cursor };
}

function endedCalls(looking: Looking, wanted: CallsWanted): readonly FoundCall[] {
  const { gateway, caller } = looking;
  const { run, cursor, limit } = wanted;
  const { tenant } = caller;
  const principal = looking.readsAll ? null : formatPrincipal(caller.principal);
  const page = { tenant, principal, after: cursor ?? null, limit };
  return listResults(gateway.store, run === undefined ? page : { ...page, run }).map((kept) => ({
    state: 'ended',
    call: asKnownTo(looking, kept),
  }));
}

function runningCalls(looking: Looking, wanted: CallsWanted): readonly FoundCall[] {
  const { run, cursor } = wanted;
  return looking.gateway.running
    .list()
    .filter((call) => isSeen(looking, call))
    .filter((call) => run === undefined || call.run === run)
    .filter((call) => cursor === undefined || call.callId < cursor)
    .map((call) => ({ state: 'running', call }));
}
