import * as z from 'zod';
import { type Approval, stateAt } from '../approval/approval.ts';
import { type LastingApproval, list, show } from '../approval/requests.ts';
import { placeOf } from '../core/caller.ts';
import { CodedError, wrongUsage } from '../core/coded-error.ts';
import { answerApproval } from '../invoke/administer.ts';
import { isSeen, type Reading, tenantOf, type View, viewOf } from './access.ts';
import { type Operation, operation } from './operation.ts';
import {
  anyJson,
  pageInput,
  pageOf,
  proseText,
  risk,
  sha256,
  someId,
  tierName,
  timeMs,
  wholeNumber,
  withoutGaps,
} from './schema-parts.ts';

/* Requests for approval: callers see those of their own calls, and people whom the policies permit decide them. */

const PAGE = 20;
const NOTE_CHARS = 1_000;

const approvalState = z.enum(['pending', 'approved', 'denied', 'used', 'expired']);

const lasting = z.enum(['call', 'run', 'time']);
const LONGEST_S = 86_400;

const approval = z
  .object({
    id: z.string(),
    digest: sha256.describe('Names the very call that is asked for.'),
    tenant: z.string(),
    principal: z.string(),
    tool: z.string(),
    inputText: z.string().describe('The input without secrets; empty once it is used or expired.'),
    inputDigest: sha256,
    toolDigest: sha256,
    policySet: sha256,
    policies: z.array(z.string()).describe('The policies that permit the call once it is approved.'),
    risk,
    askedAtMs: timeMs,
    expiresAtMs: timeMs,
    state: approvalState,
    decidedBy: z.string().nullable(),
    decidedAtMs: timeMs.nullable(),
    note: z.string().nullable(),
    usedByCall: z.string().nullable(),
    run: z
      .string()
      .nullable()
      .describe('The session of the call that asked, and in it the label or the connection.'),
    lasts: lasting.describe(
      'What an approval is for: one call; every identical call of the run; or every identical call. Until it expires.',
    ),
    askedTool: z
      .object({
        description: z.string(),
        category: z.string(),
        tier: tierName,
        capabilities: z.array(z.string()),
        inputSchema: z.record(z.string(), anyJson),
      })
      .nullable(),
  })
  .meta({ id: 'Approval' });

const id = someId.describe('The id of a request.');

const facts = { noun: 'approvals', scope: null, action: 'readJournal', opens: 'records' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'listApprovals',
    sentence:
      'Lists requests for approval, the newest first: those of one’s own calls, and those of others for who may read them.',
    http: { method: 'GET', path: '/v1/approvals' },
    input: pageInput(PAGE).extend({
      state: approvalState.optional().describe('Only requests in this state.'),
    }),
    output: pageOf('approvals', approval, 'A page of requests.'),
    handle: (context, { limit, cursor: after, state }) => {
      const { store, clock } = context.gateway;
      const { tenant, principal } = viewOfApprovals(context);
      const nowMs = clock.nowMs();
      const of = { tenant: tenant ?? undefined, principal: principal ?? undefined };
      const found = list(store, withoutGaps({ limit, nowMs, ...of, state, after }));
      const cursor = found.length < limit ? null : (found.at(-1)?.id ?? null);
      return { approvals: found.map((each) => approvalDocument(each, nowMs)), cursor };
    },
  }),
  operation({
    ...facts,
    name: 'getApproval',
    sentence: 'Shows a request: who asks for which call, and what was decided.',
    http: { method: 'GET', path: '/v1/approvals/{id}' },
    input: z.strictObject({ id }),
    output: { schema: approval, sentence: 'The request.' },
    handle: (context, input) => {
      const found = findRequest(context, input.id);
      if (found === null || !isSeen(viewOfApprovals(context), found)) throw unknownRequest(input.id);
      return approvalDocument(found, context.gateway.clock.nowMs());
    },
  }),
  operation({
    name: 'decideApproval',
    noun: 'approvals',
    sentence:
      'Approves or denies a request, once and for good. Only people whom the policies permit decide; an agent never does.',
    scope: 'approve',
    action: 'approve',
    opens: 'gateway',
    http: { method: 'POST', path: '/v1/approvals/{id}/decision' },
    input: z.strictObject({
      id,
      verdict: z.enum(['approved', 'denied']),
      note: proseText(NOTE_CHARS).optional().describe('Why; it is recorded and shown.'),
      lasts: lasting
        .optional()
        .describe(
          'Approves one call, or every identical call of the same run or of any, for `seconds`; left out: one call.',
        ),
      seconds: wholeNumber(1, LONGEST_S).optional().describe('How long an approval lasts; left out: a day.'),
    }),
    output: { schema: approval, sentence: 'The request, decided.' },
    handle: async (context, { id: wanted, verdict, note = null, ...asked }) => {
      const { gateway, caller, door } = context;
      const found = findRequest(context, wanted);
      if (found === null) throw unknownRequest(wanted);
      const { principal: by, credential } = caller;
      const place = placeOf(caller);
      const lasting = lastingOf(found, verdict, asked);
      const answer = { id: found.id, verdict, by, note, lasting, door, credential, ...place };
      const decided = await answerApproval(gateway, answer);
      if (decided.ok) return approvalDocument(decided.approval, gateway.clock.nowMs());
      // Boundary: a caller that may neither decide nor see a request does not learn that it exists.
      if (decided.code === 'approval/not-allowed' && !isSeen(viewOfApprovals(context), found))
        throw unknownRequest(wanted);
      throw new CodedError(decided.code, decided.message);
    },
  }),
];

/** Null: the answer is about one call. A denial does not last, and calls without a session cannot be told from others. */
function lastingOf(
  { id: wanted, run }: Approval,
  verdict: 'approved' | 'denied',
  {
    lasts = 'call',
    seconds = LONGEST_S,
  }: { lasts?: Approval['lasts'] | undefined; seconds?: number | undefined },
): LastingApproval | null {
  if (verdict === 'denied' || lasts === 'call') return null;
  if (lasts === 'time' || run !== null) return { lasts, forMs: seconds * 1_000 };
  throw wrongUsage(
    `Cannot approve request "${wanted}" for its run: the call belongs to no session, expected a time`,
    `Use \`palisade approvals approve ${wanted} --for 1h\`.`,
  );
}

/** A request as programs read it: one whose time has passed says so. */
function approvalDocument(request: Approval, nowMs: number) {
  return { ...request, state: stateAt(request, nowMs) };
}

/** The request of exactly that id; those of other tenants do not exist. The owner may also give the start of an id. */
function findRequest(reading: Reading, wanted: string): Approval | null {
  const found = show(reading.gateway.store, wanted);
  const tenant = tenantOf(reading);
  if (found === null || tenant === null) return found;
  return found.id === wanted && found.tenant === tenant ? found : null;
}

function viewOfApprovals(reading: Reading): View {
  return viewOf(reading, { any: ['call', 'read', 'approve'], forAll: ['read', 'approve'] });
}

function unknownRequest(wanted: string): CodedError {
  return new CodedError(
    'approval/unknown',
    `Cannot find request "${wanted}": no request that you may see has this id`,
  );
}
