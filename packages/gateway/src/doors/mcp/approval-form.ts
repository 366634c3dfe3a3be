import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Approval } from '../../approval/approval.ts';
import type { LastingApproval } from '../../approval/requests.ts';
import { safeLine } from '../../core/hostile-text.ts';

/*
 * The form that asks the person at a client about one call. It asks for a yes or a no, and for how long a yes is meant,
 * never for a secret. Each yes is bound to the digest of the call, as every approval is; none is wider than what
 * `palisade approvals approve --for` gives.
 */

const MAX_INPUT_CHARS = 2_000;
const MAX_REASON_CHARS = 500;
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** What the person answered; null where nothing was decided. */
export type Answered = {
  readonly verdict: 'approved' | 'denied';
  readonly note: string | null;
  readonly lasting: LastingApproval | null;
} | null;

type Choice = Omit<NonNullable<Answered>, 'note'> & { readonly decision: string; readonly title: string };

const APPROVE = { verdict: 'approved' } as const;
const ONCE: Choice = { decision: 'approve', title: 'Approve this call, once', ...APPROVE, lasting: null };
const IN_RUN: Choice = {
  decision: 'approve-for-run',
  title: 'Approve this very call for the rest of this session',
  ...APPROVE,
  lasting: { lasts: 'run', forMs: DAY_MS },
};
const FOR_HOUR: Choice = {
  decision: 'approve-for-1h',
  title: 'Approve this very call for an hour',
  ...APPROVE,
  lasting: { lasts: 'time', forMs: HOUR_MS },
};
const DENY: Choice = { decision: 'deny', title: 'Deny', verdict: 'denied', lasting: null };

/** What a person may answer to a request that a call of this run has opened or found. */
function choicesFor({ run }: Approval, callRun: string | null): readonly Choice[] {
  // Boundary: a request that another run opened would be approved for that one.
  const isOwn = run !== null && run === callRun;
  return [ONCE, ...(isOwn ? [IN_RUN] : []), FOR_HOUR, DENY];
}

/** The form for one request. What it shows of the call is sanitised and contains none of our secrets. */
export function approvalForm(
  approval: Approval,
  callRun: string | null,
): Pick<ElicitRequestFormParams, 'message' | 'requestedSchema'> {
  const { id, principal, tool, risk, inputText } = approval;
  const input = safeLine(inputText, MAX_INPUT_CHARS);
  const choices = choicesFor(approval, callRun);
  return {
    message: `${principal} wants to call ${tool} (risk: ${risk}) with ${input}. May it? (${id})`,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          description:
            'About exactly this call with exactly this input. A call that differs is asked about anew.',
          enum: choices.map(({ decision }) => decision),
          enumNames: choices.map(({ title }) => title),
        },
        reason: {
          type: 'string',
          title: 'Reason',
          description: 'For the record; the agent sees why a call was denied. Put no secret here.',
          maxLength: MAX_REASON_CHARS,
        },
      },
      required: ['decision'],
    },
  };
}

const ACCEPTED = z.object({
  action: z.literal('accept'),
  content: z.object({ decision: z.string(), reason: z.string().optional() }),
});

/** Reads an answer. A form that was dismissed, or that has anything but a choice that it offered, decides nothing. */
export function readAnswer(raw: unknown, approval: Approval, callRun: string | null): Answered {
  // Boundary: the answer comes from the client.
  const read = ACCEPTED.safeParse(raw);
  if (!read.success) return null;
  const { decision, reason } = read.data.content;
  const chosen = choicesFor(approval, callRun).find((each) => each.decision === decision);
  if (chosen === undefined) return null;
  const { verdict, lasting } = chosen;
  const note = reason === undefined || reason === '' ? null : safeLine(reason, MAX_REASON_CHARS);
  return { verdict, lasting, note };
}
