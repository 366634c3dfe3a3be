import { z } from 'zod';
import type { Approval } from '../../../approval/approval.ts';
import { list, show } from '../../../approval/requests.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import { answerApproval } from '../../../invoke/administer.ts';
import { approvalDocument } from '../../documents/approval.ts';
import { isSeen, mayReadAll, requireOneOf } from '../may-see.ts';
import { type Asked, type Reply, type Route, route } from '../route.ts';
import { approval as approvalSchema, approvalState, decisionBody } from '../schemas/approval.ts';
import { nextCursor, pageQuery, someId } from '../schemas/parts.ts';
import { document, json } from './answer.ts';

/* Requests for approval: everybody sees those of their own calls, and people decide. */

const USUAL_PAGE = 20;
const params = z.object({ id: someId.describe('The id of a request.') });
const asJson = 'application/json';

type Asking = Pick<Asked, 'gateway' | 'caller'>;

export const approvalsRoutes: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/v1/approvals', name: 'listApprovals', tag: 'approvals', scope: null },
    sentence:
      'Lists requests for approval, the newest first: those of one’s own calls, and those of others for who may read them.',
    query: pageQuery(USUAL_PAGE).extend({
      state: approvalState.optional().describe('Only requests in this state.'),
    }),
    replies: {
      200: document(
        z.object({ approvals: z.array(approvalSchema), cursor: nextCursor }),
        'A page of requests.',
      ),
    },
    handle: async (asked) => {
      const { gateway, caller, query } = asked;
      const { limit, cursor: after, state } = query;
      const found = list(gateway.store, {
        ...{ limit, nowMs: gateway.clock.nowMs(), tenant: caller.tenant },
        ...(readsAll(asked) ? {} : { principal: formatPrincipal(caller.principal) }),
        ...(state === undefined ? {} : { state }),
        ...(after === undefined ? {} : { after }),
      });
      const cursor = found.length < limit ? null : (found.at(-1)?.id ?? null);
      const approvals = found.map((each) => documentOf(asked, each));
      return json({ approvals, cursor });
    },
  }),
  route({
    ...{
      method: 'GET',
      path: '/v1/approvals/{id}',
      name: 'getApproval',
      tag: 'approvals',
      scope: null,
      params,
    },
    sentence: 'Shows a request: who asks for which call, and what was decided.',
    replies: { 200: document(approvalSchema, 'The request.') },
    handle: async (asked) => {
      const { id } = asked.params;
      const found = ofTenant(asked, id);
      if (found === null || !isSeen({ ...asked, readsAll: readsAll(asked) }, found)) throw unknown(id);
      return json(documentOf(asked, found));
    },
  }),
  route({
    ...{ method: 'POST', path: '/v1/approvals/{id}/decision', name: 'decideApproval', tag: 'approvals' },
    ...{ scope: 'approve', params },
    sentence:
      'Approves or denies a request, once and for good. Only people whom the policies permit decide; an agent never does.',
    body: { type: asJson, schema: decisionBody },
    replies: { 200: document(approvalSchema, 'The request, decided.') },
    handle: decideApproval,
  }),
];

type Deciding = Asked<z.output<typeof params>, unknown, z.output<typeof decisionBody>>;

async function decideApproval(asked: Deciding): Promise<Reply> {
  const { gateway, caller, params: named, body } = asked;
  const found = ofTenant(asked, named.id);
  if (found === null) throw unknown(named.id);
  const { verdict, note = null } = body;
  const decided = await answerApproval(gateway, { id: found.id, verdict, by: caller.principal, note });
  if (decided.ok) return json(documentOf(asked, decided.approval));
  // Boundary: who may neither decide nor see a request does not learn that there is one.
  if (decided.code === 'approval/not-allowed' && !isSeen({ ...asked, readsAll: readsAll(asked) }, found))
    throw unknown(named.id);
  throw new CodedError(decided.code, decided.message);
}

/** The request of exactly that id; those of other tenants are not there. */
function ofTenant({ gateway, caller }: Asking, id: string): Approval | null {
  const found = show(gateway.store, id);
  return found?.id === id && found.tenant === caller.tenant ? found : null;
}

function readsAll(asking: Asking): boolean {
  requireOneOf(asking.caller, ['call', 'read', 'approve']);
  return mayReadAll(asking, ['read', 'approve']);
}

function documentOf({ gateway }: Asking, approval: Approval) {
  return approvalDocument(approval, gateway.clock.nowMs());
}

function unknown(id: string): CodedError {
  return new CodedError('approval/unknown', `Cannot find request "${id}": there is none that you may see`);
}
