import { sql } from 'kysely';
import { isoTime } from '../core/clock.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import { queries, type Transaction } from '../store/transaction.ts';
import { type Approval, type ApprovalTables, approvalOf, stateAt } from './approval.ts';

export type Deciding = {
  readonly id: string;
  readonly verdict: 'approved' | 'denied';
  readonly by: Principal;
  readonly note: string | null;
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

const query = queries<ApprovalTables>();

const selectById = query<{ id: string }>()((db, p) =>
  db.selectFrom('approval').selectAll().where('id', '=', p('id')),
);

type Verdict = { id: string; verdict: string; by: string; note: string | null; nowMs: number };

const settleRequest = query<Verdict>()((db, p) =>
  db
    .updateTable('approval')
    .set({ state: p('verdict'), decided_by: p('by'), decided_at_ms: p('nowMs'), note: p('note') })
    .where('id', '=', p('id'))
    .where('state', '=', 'pending')
    .where('expires_at_ms', '>', p('nowMs'))
    .returningAll(),
);

/** Records a user's answer to an open request, once. The policies have decided before whether this user may decide. */
export function decide(tx: Transaction, deciding: Deciding): Decided {
  const { id, verdict, note, currentPolicySet, nowMs } = deciding;
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
  const decided = tx.get(settleRequest, { id, verdict, by, note, nowMs });
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
