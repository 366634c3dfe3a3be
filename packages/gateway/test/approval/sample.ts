import type { ApprovalBinding } from '../../src/approval/approval.ts';
import type { ApprovalRequest, Deciding } from '../../src/approval/requests.ts';
import { digestBytes } from '../../src/core/digest.ts';

export const NOON = Date.UTC(2026, 4, 1, 12, 0, 0);
export const LIFE_MS = 15 * 60_000;
export const POLICY_SET = digestBytes('the policies');

export const BINDING: ApprovalBinding = {
  tenant: 'default',
  principal: 'agent:ada',
  tool: 'palisade.sleep',
  toolDigest: digestBytes('the tool'),
  inputDigest: digestBytes('{"ms":60000}'),
  artifacts: [{ name: 'module', sha256: digestBytes('the module') }],
  policySet: POLICY_SET,
};

/** A question that is fine in all that a test does not name. */
export function request(wishes: Partial<ApprovalRequest> & { id: string }): ApprovalRequest {
  const nowMs = wishes.nowMs ?? NOON;
  return {
    binding: BINDING,
    inputText: '{"ms":60000}',
    policies: ['long-sleeps'],
    toolText: '',
    run: null,
    risk: 'high',
    nowMs,
    expiresAtMs: nowMs + LIFE_MS,
    ...wishes,
  };
}

/** A user's answer that is fine in all that a test does not name. */
export function answer(wishes: Partial<Deciding> & { id: string }): Deciding {
  return {
    verdict: 'approved',
    by: { kind: 'user', name: 'grace' },
    note: null,
    lasting: null,
    currentPolicySet: POLICY_SET,
    nowMs: NOON + 1,
    ...wishes,
  };
}
