import { type Approval, type ShownState, stateAt } from '../../approval/approval.ts';

export type ApprovalDocument = Omit<Approval, 'state'> & { readonly state: ShownState };

/** A request as programs read it: one whose time has passed says so. */
export function approvalDocument(approval: Approval, nowMs: number): ApprovalDocument {
  return { ...approval, state: stateAt(approval, nowMs) };
}
