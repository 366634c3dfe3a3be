import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Approval } from '../../approval/approval.ts';
import { safeLine } from '../../core/hostile-text.ts';

/** The form in which the person behind a client is asked about one call. It asks for a yes or a no, never for a secret. */

const MAX_INPUT_CHARS = 2_000;
const MAX_REASON_CHARS = 500;

/** What the person answered; null where nothing was decided. */
export type Answered = { readonly verdict: 'approved' | 'denied'; readonly note: string | null } | null;

const ACCEPTED = z.object({
  action: z.literal('accept'),
  content: z.object({ decision: z.enum(['approve', 'deny']), reason: z.string().optional() }),
});

/** The form for one request. What it shows of the call was made inert and has no secret of ours. */
export function approvalForm(
  approval: Approval,
): Pick<ElicitRequestFormParams, 'message' | 'requestedSchema'> {
  const { id, principal, tool, risk, inputText } = approval;
  const input = safeLine(inputText, MAX_INPUT_CHARS);
  return {
    message: `${principal} wants to call ${tool} (risk: ${risk}) with ${input}. May it, once? (${id})`,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          description: 'Approve this one call, or deny it.',
          enum: ['approve', 'deny'],
        },
        reason: {
          type: 'string',
          title: 'Reason',
          description: 'For the record. Put no secret here.',
          maxLength: MAX_REASON_CHARS,
        },
      },
      required: ['decision'],
    },
  };
}

/** Reads an answer. A form that was put away, or that has anything but a clear decision, decides nothing. */
export function readAnswer(raw: unknown): Answered {
  // Boundary: the answer comes from the client.
  const read = ACCEPTED.safeParse(raw);
  if (!read.success) return null;
  const { decision, reason } = read.data.content;
  const note = reason === undefined || reason === '' ? null : safeLine(reason, MAX_REASON_CHARS);
  return { verdict: decision === 'approve' ? 'approved' : 'denied', note };
}
