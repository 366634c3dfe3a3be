import type { ApprovalFact, CheckedCall } from '../core/checked-call.ts';
import { type Digest, digestValue } from '../core/digest.ts';
import { formatPrincipal } from '../core/principal.ts';
import type { Risk, Tool } from '../core/tool.ts';
import type { Migration } from '../store/migrate.ts';
import { queries, type Reader, type Transaction } from '../store/transaction.ts';

/** Everything an approval is bound to. A call that differs in any part needs another approval. */
export type ApprovalBinding = {
  readonly tenant: string;
  readonly principal: string;
  readonly tool: string;
  readonly toolDigest: Digest;
  readonly inputDigest: Digest;
  readonly artifacts: Tool['artifacts'];
  readonly policySet: string;
};

export function bindingOf(
  { call, tool, toolDigest, inputDigest, artifacts }: CheckedCall,
  policySet: string,
): ApprovalBinding {
  const { id } = tool;
  const principal = formatPrincipal(call.principal);
  return { tenant: call.tenant, principal, tool: id, toolDigest, inputDigest, artifacts, policySet };
}

/** The digest of one exact call under one exact policy set; equal only when every part is equal. */
export function approvalDigest(binding: ApprovalBinding): Digest {
  const { tenant, principal, tool, toolDigest, inputDigest, artifacts, policySet } = binding;
  return digestValue({ tenant, principal, tool, toolDigest, inputDigest, artifacts, policySet });
}

/** The part of a tool that people and policies see; all of it without secrets. */
export type AskedTool = Pick<Tool, 'description' | 'category' | 'tier' | 'capabilities' | 'inputSchema'>;

/** A request for the approval of a person, and its answer once there is one. */
export type Approval = Readonly<ReturnType<typeof approvalOf>>;

/** The state for display: an open request or an unused approval whose time has passed is expired. */
export type ShownState = StoredState | 'expired';

/** The state of an approval at a given time. Expiry is never stored. */
export function stateAt(approval: Approval, nowMs: number): ShownState {
  const isOpen = approval.state === 'pending' || approval.state === 'approved';
  return isOpen && nowMs >= approval.expiresAtMs ? 'expired' : approval.state;
}

export function approvalOf(row: ApprovalRow) {
  return {
    id: row.id,
    digest: row.digest,
    tenant: row.tenant,
    principal: row.principal,
    tool: row.tool,
    inputText: row.input_json,
    inputDigest: row.input_digest,
    toolDigest: row.tool_digest,
    policySet: row.policy_set,
    policies: JSON.parse(row.decided_by_policies) as readonly string[],
    risk: row.risk,
    askedAtMs: row.asked_at_ms,
    expiresAtMs: row.expires_at_ms,
    state: row.state,
    decidedBy: row.decided_by,
    decidedAtMs: row.decided_at_ms,
    note: row.note,
    usedByCall: row.used_by_call,
    /** The run of the call that asked; null: it was part of none. */
    run: row.run,
    lasts: row.lasts,
    /** The tool, where it exists only during its call; null for one that every gateway has. */
    askedTool: row.tool_json === '' ? null : (JSON.parse(row.tool_json) as AskedTool),
  };
}

/** What an approval is for: one call, or every identical call, of the run that asked or of any, until it expires. */
export type Lasting = 'call' | 'run' | 'time';

export type StoredState = 'pending' | 'approved' | 'denied' | 'used';

export type ApprovalRow = {
  id: string;
  digest: string;
  tenant: string;
  principal: string;
  tool: string;
  /** The canonical input without secrets: for display, never to be run. Empty once it is used or expired. */
  input_json: string;
  input_digest: string;
  tool_digest: string;
  policy_set: string;
  /** A JSON list of the ids of the policies that permit the call once it is approved. */
  decided_by_policies: string;
  risk: Risk;
  asked_at_ms: number;
  /** The time from which it no longer counts. */
  expires_at_ms: number;
  state: StoredState;
  decided_by: string | null;
  decided_at_ms: number | null;
  note: string | null;
  used_by_call: string | null;
  /** JSON of a tool that exists only during its call; empty for one that every gateway has. */
  tool_json: string;
  run: string | null;
  lasts: Lasting;
};

/** `seq` is the order of the requests, regardless of the clock. */
export type ApprovalTables = { approval: ApprovalRow & { seq: number } };

export const approvalMigrations: readonly Migration[] = [
  {
    id: 'approval/001',
    sql: `
CREATE TABLE approval (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL,
  tenant TEXT NOT NULL,
  principal TEXT NOT NULL,
  tool TEXT NOT NULL,
  input_json TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  tool_digest TEXT NOT NULL,
  policy_set TEXT NOT NULL,
  decided_by_policies TEXT NOT NULL CHECK (json_valid(decided_by_policies)),
  risk TEXT NOT NULL,
  asked_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used')),
  decided_by TEXT CHECK ((decided_by IS NULL) = (state = 'pending')),
  decided_at_ms INTEGER CHECK ((decided_at_ms IS NULL) = (state = 'pending')),
  note TEXT,
  used_by_call TEXT CHECK ((used_by_call IS NOT NULL) = (state = 'used'))
) STRICT;
CREATE INDEX approval_by_digest ON approval (digest, seq);
CREATE INDEX approval_by_state ON approval (state, seq);`,
  },
  {
    id: 'approval/002',
    sql: `
CREATE INDEX approval_by_asker ON approval (tenant, principal, state, expires_at_ms);
CREATE INDEX approval_by_expiry ON approval (expires_at_ms);
CREATE INDEX approval_with_input ON approval (expires_at_ms) WHERE input_json <> '';`,
  },
  {
    id: 'approval/003',
    sql: `ALTER TABLE approval ADD COLUMN tool_json TEXT NOT NULL DEFAULT '';`,
  },
  {
    id: 'approval/004',
    sql: `
ALTER TABLE approval ADD COLUMN run TEXT;
ALTER TABLE approval ADD COLUMN lasts TEXT NOT NULL DEFAULT 'call' CHECK (lasts IN ('call', 'run', 'time'));`,
  },
];

export type ApprovalState =
  | { readonly kind: 'none' }
  | { readonly kind: 'pending'; readonly approval: Approval }
  | { readonly kind: 'approved'; readonly approval: Approval; readonly fact: ApprovalFact }
  | { readonly kind: 'denied'; readonly approval: Approval }
  | { readonly kind: 'expired'; readonly approval: Approval };

const query = queries<ApprovalTables>();

const selectNewest = query<{ digest: string }>()((db, p) =>
  db
    .selectFrom('approval')
    .selectAll()
    .where('digest', '=', p('digest'))
    .where('lasts', '<>', 'run')
    .orderBy('seq', 'desc')
    .limit(1),
);

const selectLasting = query<{ digest: string; run: string | null; nowMs: number }>()((db, p) =>
  db
    .selectFrom('approval')
    .selectAll()
    .where('digest', '=', p('digest'))
    .where('state', '=', 'approved')
    .where('expires_at_ms', '>', p('nowMs'))
    // Boundary: an approval for a run is none for any other; a call without a run is equal to no run.
    .where((eb) =>
      eb.or([eb('lasts', '=', 'time'), eb.and([eb('lasts', '=', 'run'), eb('run', '=', p('run'))])]),
    )
    .orderBy('seq', 'desc')
    .limit(1),
);

/** What a digest and a run are asked about: one exact call, and the run that it is part of. */
export type AskedCall = { readonly digest: string; readonly run: string | null };

/** An approval that lasts, else the newest answer to this request; one that was used, or denied long ago, does not count. */
export function approvalState(reader: Reader, { digest, run }: AskedCall, nowMs: number): ApprovalState {
  const row = reader.get(selectLasting, { digest, run, nowMs }) ?? reader.get(selectNewest, { digest });
  if (row === undefined || row.state === 'used') return { kind: 'none' };
  const approval = approvalOf(row);
  if (nowMs >= approval.expiresAtMs)
    return row.state === 'denied' ? { kind: 'none' } : { kind: 'expired', approval };
  if (row.state !== 'approved') return { kind: row.state, approval };
  const { id, decidedBy, decidedAtMs } = approval;
  // Boundary: an approval without who decided and when does not count; the table refuses such a row as well.
  if (decidedBy === null || decidedAtMs === null) return { kind: 'none' };
  return { kind: 'approved', approval, fact: { id, by: decidedBy, atMs: decidedAtMs } };
}

const markUsed = query<{ id: string; callId: string; nowMs: number }>()((db, p) =>
  db
    .updateTable('approval')
    .set({ state: 'used', used_by_call: p('callId'), input_json: '' })
    .where('id', '=', p('id'))
    // Boundary: the state is checked where it is changed, so that exactly one caller of all processes gets it.
    .where('state', '=', 'approved')
    .where('lasts', '=', 'call')
    .where('expires_at_ms', '>', p('nowMs')),
);

const selectUsable = query<{ id: string; nowMs: number }>()((db, p) =>
  db
    .selectFrom('approval')
    .select('id')
    .where('id', '=', p('id'))
    .where('state', '=', 'approved')
    .where('lasts', '<>', 'call')
    .where('expires_at_ms', '>', p('nowMs')),
);

/**
 * Uses up an approval for one call and drops its input; true exactly once, and only before it expires. One that lasts is
 * not used up.
 */
export function use(tx: Transaction, id: string, callId: string, nowMs: number): boolean {
  return tx.run(markUsed, { id, callId, nowMs }) === 1 || tx.get(selectUsable, { id, nowMs }) !== undefined;
}
