import type { Statement, Wire } from '@palisade/sdk';
import { type Approval, approvalDigest, approvalState } from '../approval/approval.ts';
import type { ToolCall } from '../core/call.ts';
import { isoTime } from '../core/clock.ts';
import type { Digest } from '../core/digest.ts';
import { refuse } from '../core/outcome.ts';
import type { Ended } from '../invoke/finish.ts';
import type { Gateway } from '../invoke/gateway.ts';
import { isHiddenCall } from './access.ts';
import { type CallDocument, callDocument } from './call-document.ts';

/* What the caller of a tool learns of the ending of its call. */

/** The same with what only some endings have. */
export type CallerDocument = CallDocument & Pick<Wire.CallDocument, 'truncated' | 'approval' | 'replayed'>;

/** How a call ended, as its caller may know it. */
export function callerDocument(gateway: Gateway, call: ToolCall, known: Ended): CallerDocument {
  const ended = isHiddenCall(gateway, call, known.outcome) ? asUnknownTool(known, call.tool) : known;
  const { outcome, replayed } = ended;
  const approval = openQuestion(gateway, ended);
  return {
    ...callDocument(ended),
    ...(outcome.status !== 'refused' && outcome.truncated ? { truncated: true } : {}),
    ...(approval === null ? {} : { approval }),
    ...(replayed === undefined ? {} : { replayed }),
  };
}

/** The message for a tool that does not exist, for this caller or at all. */
export function noSuchTool(tool: string): string {
  return `Cannot call "${tool}": no such tool`;
}

/** The ending of a call of a tool that does not exist. The receipt would distinguish them, so neither has one. */
function asUnknownTool(ended: Ended, tool: string): Ended {
  const outcome = refuse('registry/unknown-tool', noSuchTool(tool));
  return { ...ended, outcome, receipt: null };
}

const PENDING: ReadonlySet<string> = new Set(['policy/approval-required', 'policy/approval-expired']);

/** The open request that a refused call left, found by what it is bound to, as its receipt has it; null: none. */
export function openRequest({ store, clock }: Gateway, { receipt, outcome }: Ended): Approval | null {
  if (receipt === null || !PENDING.has(outcome.code)) return null;
  const digest = bindingDigest(receipt);
  const state = digest === null ? null : approvalState(store, { digest, run: null }, clock.nowMs());
  return state?.kind === 'pending' ? state.approval : null;
}

/** What a caller learns of the request that its call left, and that waits for a person; null: none. */
export function openQuestion(gateway: Gateway, ended: Ended): Wire.AskedApproval | null {
  const open = openRequest(gateway, ended);
  return (
    open && {
      id: open.id,
      expiresAt: isoTime(open.expiresAtMs),
      approveWith: gateway.approveCommand(open.id),
    }
  );
}

function bindingDigest(receipt: string): Digest | null {
  const { payload } = JSON.parse(receipt) as { readonly payload: string };
  const { subject, predicate } = JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as Statement;
  const { tenant, principal, tool, artifacts, policy } = predicate;
  const input = subject.find(({ name }) => name === 'input')?.digest.sha256;
  if (input === undefined || tool.definition === null || policy.set === null) return null;
  return approvalDigest({
    tenant,
    principal,
    tool: tool.id,
    policySet: policy.set,
    // They were made as digests and signed as such.
    toolDigest: tool.definition as Digest,
    inputDigest: input as Digest,
    artifacts: artifacts as readonly { readonly name: string; readonly sha256: Digest }[],
  });
}
