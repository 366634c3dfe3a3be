import type { CheckedCall } from '../core/checked-call.ts';
import { type Digest, digestValue } from '../core/digest.ts';
import { formatPrincipal } from '../core/principal.ts';
import type { Risk, Tool } from '../core/tool.ts';
import type { ApprovalRow, ApprovalState } from './tables.ts';

/** Everything an approval is bound to. A call that differs in any of it is another question. */
export type ApprovalBinding = {
  readonly tenant: string;
  readonly principal: string;
  readonly tool: string;
  readonly toolDigest: Digest;
  readonly inputDigest: Digest;
  readonly artifacts: Tool['artifacts'];
  readonly policySet: string;
};

/** What an approval of this call under this policy set is bound to. */
export function bindingOf(
  { call, tool, toolDigest, inputDigest, artifacts }: CheckedCall,
  policySet: string,
): ApprovalBinding {
  const { id } = tool;
  const principal = formatPrincipal(call.principal);
  return { tenant: call.tenant, principal, tool: id, toolDigest, inputDigest, artifacts, policySet };
}

/** The name of one very call under one very policy set; equal only when every part is equal. */
export function approvalDigest(binding: ApprovalBinding): Digest {
  const { tenant, principal, tool, toolDigest, inputDigest, artifacts, policySet } = binding;
  return digestValue({ tenant, principal, tool, toolDigest, inputDigest, artifacts, policySet });
}

/** What people and policies are told of a tool; all of it without secrets. */
export type AskedTool = Pick<Tool, 'description' | 'category' | 'tier' | 'capabilities' | 'inputSchema'>;

/** A question to a person, and its answer once there is one. */
export type Approval = {
  readonly id: string;
  readonly digest: string;
  readonly tenant: string;
  readonly principal: string;
  readonly tool: string;
  /** The canonical input without secrets: to be shown, never to be run. Empty once the request is used or expired. */
  readonly inputText: string;
  readonly inputDigest: string;
  readonly toolDigest: string;
  readonly policySet: string;
  /** The policies that permit the call once it is approved. */
  readonly policies: readonly string[];
  readonly risk: Risk;
  readonly askedAtMs: number;
  /** The first moment at which it no longer counts. */
  readonly expiresAtMs: number;
  readonly state: ApprovalState;
  readonly decidedBy: string | null;
  readonly decidedAtMs: number | null;
  readonly note: string | null;
  readonly usedByCall: string | null;
  /** The tool, where it lives no longer than its call; null for one that every gateway has. */
  readonly askedTool: AskedTool | null;
};

/** What people are told: an open question or an unused approval whose time has passed is expired. */
export type ShownState = ApprovalState | 'expired';

/** The state of an approval at a moment. Being expired is never stored. */
export function stateAt(approval: Approval, nowMs: number): ShownState {
  const isOpen = approval.state === 'pending' || approval.state === 'approved';
  return isOpen && nowMs >= approval.expiresAtMs ? 'expired' : approval.state;
}

/** Reads a row of the table. */
export function approvalOf(row: ApprovalRow): Approval {
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
    askedTool: row.tool_json === '' ? null : (JSON.parse(row.tool_json) as AskedTool),
  };
}
