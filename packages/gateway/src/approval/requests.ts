import { sql } from 'kysely';
import { isoTime } from '../core/clock.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import type { Risk } from '../core/tool.ts';
import { adHoc, builder, insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import {
  type Approval,
  type ApprovalBinding,
  type ApprovalRow,
  type ApprovalTables,
  approvalDigest,
  approvalOf,
  type Lasting,
  type ShownState,
  type StoredState,
  stateAt,
} from './approval.ts';

/*
 * An approval is a person's yes or no to one exact call. `invoke` opens a request (`ask`) when the policies would
 * permit the call once approved; a user decides (`decide`); the repeated call finds the answer by its digest
 * (`approvalState`), passes it to the policies as a fact, and uses it up (`use`) when the call is recorded.
 *
 * A request comes from an agent and may be hostile: the digest is computed here from the checked parts, never taken
 * from the agent, and the displayed input is redacted text that is never run. An approval decides nothing by itself:
 * the policies do, with it as one fact among others. This module never authorises, never runs and never reads a clock.
 */

export type ApprovalRequest = {
  /** The id for a new request; unused when one is already open. */
  readonly id: string;
  readonly binding: ApprovalBinding;
  /** The canonical input with every secret removed. */
  readonly inputText: string;
  readonly policies: readonly string[];
  readonly risk: Risk;
  /** For a tool that only this call's gateway has: the canonical text of its AskedTool; else empty. */
  readonly toolText: string;
  /** The run of the call; null: it is part of none. */
  readonly run: string | null;
  readonly nowMs: number;
  readonly expiresAtMs: number;
};

type OpenedRequest = { readonly approval: Approval; readonly isNew: boolean };

const db = builder<ApprovalTables>();
const query = queries<ApprovalTables>();

const selectOpen = query<{ digest: string; nowMs: number }>()((db, p) =>
  db
    .selectFrom('approval')
    .selectAll()
    .where('digest', '=', p('digest'))
    .where('state', '=', 'pending')
    .where('expires_at_ms', '>', p('nowMs'))
    .orderBy('seq', 'desc')
    .limit(1),
);

const insert = insertInto<ApprovalRow>('approval');

/** Opens a request, or finds the open one: there is never more than one for the same call. */
export function ask(tx: Transaction, request: ApprovalRequest): OpenedRequest {
  const digest = approvalDigest(request.binding);
  const open = tx.get(selectOpen, { digest, nowMs: request.nowMs });
  if (open !== undefined) return { approval: approvalOf(open), isNew: false };
  const row = rowOf(request, digest);
  tx.run(insert, row);
  return { approval: approvalOf(row), isNew: true };
}

function rowOf({ binding, ...request }: ApprovalRequest, digest: string): ApprovalRow {
  return {
    id: request.id,
    digest,
    tenant: binding.tenant,
    principal: binding.principal,
    tool: binding.tool,
    input_json: request.inputText,
    input_digest: binding.inputDigest,
    tool_digest: binding.toolDigest,
    policy_set: binding.policySet,
    decided_by_policies: JSON.stringify(request.policies),
    risk: request.risk,
    asked_at_ms: request.nowMs,
    expires_at_ms: request.expiresAtMs,
    state: 'pending',
    decided_by: null,
    decided_at_ms: null,
    note: null,
    used_by_call: null,
    tool_json: request.toolText,
    run: request.run,
    lasts: 'call',
  };
}

/** More than a person will look through; each request keeps an input that no budget was charged for. */
export const MAX_OPEN_REQUESTS = 100;

type OpenOf = { tenant: string; principal: string; nowMs: number };

const selectCount = query<OpenOf>()((db, p) =>
  db
    .selectFrom('approval')
    .select((eb) => eb.fn.countAll<number>().as('open'))
    .where('tenant', '=', p('tenant'))
    .where('principal', '=', p('principal'))
    .where('state', '=', 'pending')
    .where('expires_at_ms', '>', p('nowMs')),
);

export function countOpen(reader: Reader, tenant: string, principal: string, nowMs: number): number {
  return reader.get(selectCount, { tenant, principal, nowMs })?.open ?? 0;
}

/** Shorter prefixes of an id are the same for most requests of a day. */
const MIN_PREFIX_CHARS = 6;

export type ListAsked = {
  readonly state?: ShownState;
  /** Only those of this tenant; left out: all. */
  readonly tenant?: string;
  /** Only those of this principal; left out: all. */
  readonly principal?: string;
  readonly after?: string;
  readonly limit: number;
  readonly nowMs: number;
};

/** What expires once its time has passed. */
const MAY_EXPIRE: readonly StoredState[] = ['pending', 'approved'];

const selectById = query<{ id: string }>()((db, p) =>
  db.selectFrom('approval').selectAll().where('id', '=', p('id')),
);

const selectByRange = query<{ from: string; to: string }>()((db, p) =>
  db.selectFrom('approval').selectAll().where('id', '>=', p('from')).where('id', '<', p('to')).limit(2),
);

/** A page of requests, the newest first; `after` an unknown id the page is empty. */
export function list(reader: Reader, asked: ListAsked): readonly Approval[] {
  const { state, after, limit, nowMs, tenant, principal } = asked;
  let rows = db.selectFrom('approval').selectAll();
  if (tenant !== undefined) rows = rows.where('tenant', '=', tenant);
  if (principal !== undefined) rows = rows.where('principal', '=', principal);
  if (after !== undefined) rows = rows.where('seq', '<', reader.get(selectById, { id: after })?.seq ?? 0);
  if (state === 'expired') {
    rows = rows.where('state', 'in', MAY_EXPIRE).where('expires_at_ms', '<=', nowMs);
  } else if (state !== undefined) {
    rows = rows.where('state', '=', state);
    if (MAY_EXPIRE.includes(state)) rows = rows.where('expires_at_ms', '>', nowMs);
  }
  return reader.all(adHoc(rows.orderBy('seq', 'desc').limit(limit)), {}).map(approvalOf);
}

/** The request with that id, or the only one with that prefix; null when there is none or more than one. */
export function show(reader: Reader, id: string): Approval | null {
  const exact = reader.get(selectById, { id });
  if (exact !== undefined) return approvalOf(exact);
  if (id.length < MIN_PREFIX_CHARS) return null;
  // Boundary: a range, not a LIKE, so that no character of the given text is a wildcard.
  const [found, other] = reader.all(selectByRange, { from: id, to: `${id}\u{10ffff}` });
  return found === undefined || other !== undefined ? null : approvalOf(found);
}

export type LastingApproval = { readonly lasts: Exclude<Lasting, 'call'>; readonly forMs: number };

export type Deciding = {
  readonly id: string;
  readonly verdict: 'approved' | 'denied';
  readonly by: Principal;
  readonly note: string | null;
  /** For how long every identical call is approved, of the run that asked or of any; null: for one call. */
  readonly lasting: LastingApproval | null;
  /** The digest of the live policy set; null when none is loaded. */
  readonly currentPolicySet: string | null;
  readonly nowMs: number;
};

export type Decided =
  | { readonly ok: true; readonly approval: Approval }
  | {
      readonly ok: false;
      readonly code: 'approval/unknown' | 'approval/not-pending' | 'approval/not-allowed';
      readonly message: string;
    };

type Verdict = {
  id: string;
  verdict: string;
  by: string;
  note: string | null;
  lasts: Lasting;
  expiresAtMs: number;
  nowMs: number;
};

const settleRequest = query<Verdict>()((db, p) =>
  db
    .updateTable('approval')
    .set({ state: p('verdict'), decided_by: p('by'), decided_at_ms: p('nowMs'), note: p('note') })
    .set({ lasts: p('lasts'), expires_at_ms: p('expiresAtMs') })
    .where('id', '=', p('id'))
    .where('state', '=', 'pending')
    .where('expires_at_ms', '>', p('nowMs'))
    .returningAll(),
);

/** An approval that lasts can be withdrawn; the next identical call asks again. */
const withdraw = query<Omit<Verdict, 'verdict' | 'lasts' | 'expiresAtMs'>>()((db, p) =>
  db
    .updateTable('approval')
    .set({ state: 'denied', decided_by: p('by'), decided_at_ms: p('nowMs'), note: p('note') })
    .set({ expires_at_ms: p('nowMs') })
    .where('id', '=', p('id'))
    .where('state', '=', 'approved')
    .where('lasts', '<>', 'call')
    .where('expires_at_ms', '>', p('nowMs'))
    .returningAll(),
);

/** Records a user's answer to an open request, once. The policies have decided before whether this user may decide. */
export function decide(tx: Transaction, deciding: Deciding): Decided {
  const { id, verdict, note, lasting, currentPolicySet, nowMs } = deciding;
  const by = formatPrincipal(deciding.by);
  const doing = `Cannot ${verdict === 'approved' ? 'approve' : 'deny'} request "${id}"`;
  // Boundary: only people decide. No policy can change that; an agent could otherwise approve its own request.
  if (deciding.by.kind !== 'user') {
    const message = `${doing}: ${by} is of kind "${deciding.by.kind}", expected "user"`;
    return { ok: false, code: 'approval/not-allowed', message };
  }
  const found = tx.get(selectById, { id });
  if (found === undefined)
    return { ok: false, code: 'approval/unknown', message: `${doing}: it does not exist` };
  // An approval is bound to its policy set: this one could never be used. It can be denied at any time.
  if (verdict === 'approved' && found.policy_set !== currentPolicySet && isOpen(approvalOf(found), nowMs)) {
    const message = `${doing}: the policies have changed since it was asked, expected the same policy set`;
    return { ok: false, code: 'approval/not-pending', message };
  }
  const lasts = lasting?.lasts ?? 'call';
  const expiresAtMs = lasting === null ? found.expires_at_ms : nowMs + lasting.forMs;
  const decided =
    tx.get(settleRequest, { id, verdict, by, note, lasts, expiresAtMs, nowMs }) ??
    (verdict === 'denied' ? tx.get(withdraw, { id, by, note, nowMs }) : undefined);
  if (decided !== undefined) return { ok: true, approval: approvalOf(decided) };
  const message = `${doing}: it ${fateOf(approvalOf(found), nowMs)}, expected a pending request`;
  return { ok: false, code: 'approval/not-pending', message };
}

function isOpen(approval: Approval, nowMs: number): boolean {
  return stateAt(approval, nowMs) === 'pending';
}

function fateOf(approval: Approval, nowMs: number): string {
  const state = stateAt(approval, nowMs);
  if (state === 'expired') return `expired at ${isoTime(approval.expiresAtMs)}`;
  if (state === 'used') return `was used by call "${approval.usedByCall}"`;
  return `was ${state} by ${approval.decidedBy} at ${isoTime(approval.decidedAtMs ?? approval.askedAtMs)}`;
}

/** How long a request is listed after its expiry; the journal keeps request and answer permanently. */
const LISTED_AFTER_EXPIRY_MS = 30 * 24 * 60 * 60_000;

// The literals make the partial index usable: rows without an input are not visited again.
const dropInputs = query<{ nowMs: number }>()((db, p) =>
  db
    .updateTable('approval')
    .set({ input_json: '' })
    .where('input_json', '<>', sql.lit(''))
    .where('expires_at_ms', '<=', p('nowMs')),
);

// A used request expires like any other, so its age is also counted from there.
const deleteOld = query<{ expiredBeforeMs: number }>()((db, p) =>
  db.deleteFrom('approval').where('expires_at_ms', '<', p('expiredBeforeMs')),
);

/** Drops the inputs of expired requests, deletes those from long ago, and returns how many it deleted. */
export function pruneApprovals(tx: Transaction, nowMs: number): number {
  tx.run(dropInputs, { nowMs });
  return tx.run(deleteOld, { expiredBeforeMs: nowMs - LISTED_AFTER_EXPIRY_MS });
}
