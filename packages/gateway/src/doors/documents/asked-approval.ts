import type { Statement } from '@palisade/sdk';
import { approvalDigest, approvalState } from '../../approval/approval.ts';
import { isoTime } from '../../core/clock.ts';
import type { Digest } from '../../core/digest.ts';
import type { Ended } from '../../invoke/finish.ts';
import type { Gateway } from '../../invoke/gateway.ts';

/** The request that a refused call waits for, and what a user does to approve it. */
export type AskedApproval = {
  readonly id: string;
  readonly expiresAt: string;
  readonly approveWith: string;
};

type Asking = Pick<Gateway, 'store' | 'clock'>;

const ASKING: ReadonlySet<string> = new Set(['policy/approval-required', 'policy/approval-expired']);

/** Finds the request by what it is bound to, as the receipt of the refusal has it; null where there is none that is open. */
export function askedApproval({ store, clock }: Asking, ended: Ended): AskedApproval | null {
  if (ended.receipt === null || !ASKING.has(ended.outcome.code)) return null;
  const digest = bindingDigest(ended.receipt);
  const stand = digest === null ? null : approvalState(store, digest, clock.nowMs());
  if (stand?.kind !== 'pending') return null;
  const { id, expiresAtMs } = stand.approval;
  return { id, expiresAt: isoTime(expiresAtMs), approveWith: `palisade approvals approve ${id}` };
}

function bindingDigest(receipt: string): Digest | null {
  const { payload } = JSON.parse(receipt) as { readonly payload: string };
  const { subject, predicate } = JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as Statement;
  const { tenant, principal, tool, artifacts, policy } = predicate;
  const input = subject.find(({ name }) => name === 'input')?.digest.sha256;
  if (input === undefined || tool.definition === null || policy.set === null) return null;
  return approvalDigest({
    ...{ tenant, principal, tool: tool.id, policySet: policy.set },
    // They were made as digests and signed as such.
    toolDigest: tool.definition as Digest,
    inputDigest: input as Digest,
    artifacts: artifacts as readonly { readonly name: string; readonly sha256: Digest }[],
  });
}
