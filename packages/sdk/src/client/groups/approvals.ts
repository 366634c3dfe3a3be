import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import type { ApprovalDocument, ApprovalPage, ApprovalState, DecisionRequest } from '../wire.ts';

export type ApprovalsAsked = PageAsked & { readonly state?: ApprovalState | undefined };

type Note = Pick<DecisionRequest, 'note'>;

/** Requests for approval: a call that waits for a person runs once the identical call is made again. */
export function makeApprovals(send: Sender) {
  const decide = (id: string, body: DecisionRequest, options?: RequestOptions) =>
    send.json('decideApproval', { params: { id }, body, options });
  return {
    ...pagesOf<ApprovalsAsked, ApprovalPage, ApprovalDocument>(
      (query, options) => send.json('listApprovals', { query, options }),
      ({ approvals }) => approvals,
    ),
    get: (id: string, options?: RequestOptions) => send.json('getApproval', { params: { id }, options }),
    approve: (id: string, note: Note = {}, options?: RequestOptions) =>
      decide(id, { verdict: 'approved', ...note }, options),
    deny: (id: string, note: Note = {}, options?: RequestOptions) =>
      decide(id, { verdict: 'denied', ...note }, options),
  };
}
