import type { Risk } from '../core/tool.ts';
import { queries } from '../store/query.ts';
import type { Transaction } from '../store/transaction.ts';
import { type Approval, type ApprovalBinding, approvalDigest, approvalOf } from './approval.ts';
import type { ApprovalRow, ApprovalTables } from './tables.ts';

/*
 * An approval is a person's yes or no to one very call. `invoke` asks (`ask`) when the policies would permit the call once
 * approved; a user decides (`decide`); the repeated call finds the answer by its digest (`standing`), tells it to the
 * policies as a fact, and uses it up (`use`) in the transaction that records the call.
 *
 * What is asked comes from an agent and may be hostile: the digest is made here from the parts that were checked, never
 * taken from the asker, and the shown input is redacted text that nothing runs. An approval decides nothing by itself: the
 * policies do, with it as one fact among others. This room never authorises, never runs and never reads a clock.
 */

export type ApprovalRequest = {
  /** The id for the new question; not used when one is open already. */
  readonly id: string;
  readonly binding: ApprovalBinding;
  /** The canonical input with every secret taken out. */
  readonly inputText: string;
  readonly policies: readonly string[];
  readonly risk: Risk;
  /** Of a tool that only this call's gateway has: the canonical text of its AskedTool; else empty. */
  readonly toolText: string;
  readonly nowMs: number;
  readonly expiresAtMs: number;
};

export type Asked = { readonly approval: Approval; readonly isNew: boolean };

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

const insert = query<ApprovalRow>()((db, p) =>
  db.insertInto('approval').values({
    seq: null as never,
    id: p('id'),
    digest: p('digest'),
    tenant: p('tenant'),
    principal: p('principal'),
    tool: p('tool'),
    input_json: p('input_json'),
    input_digest: p('input_digest'),
    tool_digest: p('tool_digest'),
    policy_set: p('policy_set'),
    decided_by_policies: p('decided_by_policies'),
    risk: p('risk'),
    asked_at_ms: p('asked_at_ms'),
    expires_at_ms: p('expires_at_ms'),
    state: p('state'),
    decided_by: p('decided_by'),
    decided_at_ms: p('decided_at_ms'),
    note: p('note'),
    used_by_call: p('used_by_call'),
    tool_json: p('tool_json'),
  }),
);

/** Opens the question, or finds the one that is open: there is never more than one for the same call. */
export function ask(tx: Transaction, request: ApprovalRequest): Asked {
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
  };
}
