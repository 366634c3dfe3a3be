import { type InputRequiredResult, inputRequired } from '@modelcontextprotocol/server';
import type { Approval } from '../../approval/approval.ts';
import { show } from '../../approval/requests.ts';
import type { ToolCall } from '../../core/call.ts';
import { sourceOf } from '../../core/caller.ts';
import type { Principal } from '../../core/principal.ts';
import { answerApproval } from '../../invoke/administer.ts';
import { approvalRunOf } from '../../invoke/admit.ts';
import { inItsSession } from '../../invoke/join-session.ts';
import { type Answered, approvalForm, readAnswer } from './approval-form.ts';
import type { Asking } from './asking.ts';
import { receiptMeta } from './call-result.ts';
import type { Door } from './door.ts';
import { LONGEST_QUESTION_MS } from './open-calls.ts';
import { boundOf, type Run } from './run-call.ts';

/*
 * Approval of a call by the person at the client that made it. If the operator permits it and the client can show a
 * form, the person is prompted there; the answer is given in that person's name, and Cedar decides whether it counts.
 * Otherwise the client learns how else to get the approval. The client is trusted to show the form to its user and with
 * nothing else.
 */

/** The key of the question in a result that requests input. */
const QUESTION = 'approval';

/** Asks within the open request: the server sends the client a request, which it answers (legacy). */
export async function askNow({ door, ctx }: Asking, call: ToolCall, approval: Approval): Promise<Answered> {
  const timeout = Math.max(1, questionEndMs(door, approval) - door.gateway.clock.nowMs());
  const { signal } = ctx.mcpReq;
  const run = runHere(door, call);
  try {
    const request = { method: 'elicitation/create' as const, params: approvalForm(approval, run) };
    return readAnswer(await ctx.mcpReq.send(request, { timeout, signal }), approval, run);
  } catch (error) {
    door.log('info', 'mcp.question-unanswered', { approval: approval.id, why: nameOf(error) });
    return null;
  }
}

/** Asks by returning the question; the client repeats the call with the answer (modern). */
export function askBack(asking: Asking, { call, ended }: Run, approval: Approval): InputRequiredResult {
  const { door } = asking;
  const bound = boundOf(asking, call, 'tools/call');
  const requestState = door.states.mint(bound, approval.id, questionEndMs(door, approval));
  const form = approvalForm(approval, runHere(door, call));
  const inputRequests = { [QUESTION]: inputRequired.elicit({ mode: 'form', ...form }) };
  return { ...inputRequired({ inputRequests, requestState }), _meta: receiptMeta(ended) };
}

/** What a repeated call answers to the request that its state is about; null where it decides nothing. */
export function answerIn({ door, ctx }: Asking, call: ToolCall, approvalId: string): Answered {
  const approval = show(door.gateway.store, approvalId);
  if (approval === null) return null;
  return readAnswer(ctx.mcpReq.inputResponses?.[QUESTION], approval, runHere(door, call));
}

/** Submits the answer in the name of the person who was asked; false where it does not count. */
export async function giveAnswer(
  { door, client }: Asking,
  by: Principal,
  id: string,
  answered: NonNullable<Answered>,
): Promise<boolean> {
  const decided = await answerApproval(door.gateway, {
    id,
    by,
    ...answered,
    door: 'mcp',
    ...sourceOf(client.caller),
  });
  if (!decided.ok) door.log('warn', 'mcp.answer-refused', { approval: id, code: decided.code });
  return decided.ok;
}

/** What an approval for the run of this call would be bound to. */
function runHere({ gateway }: Door, call: ToolCall): string | null {
  return approvalRunOf(inItsSession(gateway, call));
}

function questionEndMs({ gateway }: Door, { expiresAtMs }: Approval): number {
  return Math.min(expiresAtMs, gateway.clock.nowMs() + LONGEST_QUESTION_MS);
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
