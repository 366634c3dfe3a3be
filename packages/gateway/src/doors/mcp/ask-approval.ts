import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  inputRequired,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { canonicalize } from '@palisade/sdk';
import * as z from 'zod';
import type { Approval } from '../../approval/approval.ts';
import type { ToolCall } from '../../core/call.ts';
import { digestBytes } from '../../core/digest.ts';
import { safeLine } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import { formatPrincipal, type Principal } from '../../core/principal.ts';
import { answerApproval } from '../../invoke/administer.ts';
import type { Ended } from '../../invoke/finish.ts';
import { receiptMeta } from './call-result.ts';
import { type Client, type Door, ownerOf } from './door.ts';
import type { Bound } from './request-states.ts';

/*
 * Approval of a call by the person at the client that made it. If the operator permits it and the client can show a
 * form, the person is prompted there; the answer is given in that person's name, and Cedar decides whether it counts.
 * Otherwise the client learns how else to get the approval. The client is trusted to show the form to its user and with
 * nothing else.
 */

/** The key of the question in a result that requests input. */
const QUESTION = 'approval';
const LONGEST_QUESTION_MS = 10 * 60_000;

export type Asking = {
  readonly door: Door;
  readonly client: Client;
  readonly server: Server;
  readonly ctx: ServerContext;
};

/** The person who may be prompted here; null: no one. */
export function approverHere(asking: Asking): Principal | null {
  return showsForms(asking) ? asking.client.caller.approver : null;
}

/** Whether the operator permits forms here and the client shows them. */
export function showsForms({ door, client, server, ctx }: Asking): boolean {
  const { elicitation } = door.gateway.config.mcp;
  const isPermitted = elicitation === 'on' || (elicitation === 'stdio' && client.transport === 'stdio');
  return isPermitted && canShowForm(client, server, ctx);
}

/** A client that names no mode of elicitation means forms. */
function canShowForm({ era }: Client, server: Server, ctx: ServerContext): boolean {
  const envelope: Readonly<Record<string, unknown>> = ctx.mcpReq.envelope ?? {};
  const declared = era === 'modern' ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
  const { elicitation } = (declared ?? {}) as ClientCapabilities;
  if (elicitation === undefined) return false;
  return elicitation.form !== undefined || elicitation.url === undefined;
}

/** Asks within the open request: the server sends the client a request, which it answers (legacy). */
export async function askNow({ door, ctx }: Asking, approval: Approval): Promise<Answered> {
  const timeout = Math.max(1, questionEndMs(door, approval) - door.gateway.clock.nowMs());
  const { signal } = ctx.mcpReq;
  try {
    const request = { method: 'elicitation/create' as const, params: { ...approvalForm(approval) } };
    return readAnswer(await ctx.mcpReq.send(request, { timeout, signal }));
  } catch (error) {
    door.log('info', 'mcp.question-unanswered', { approval: approval.id, why: nameOf(error) });
    return null;
  }
}

/** Asks by returning the question; the client repeats the call with the answer (modern). */
export function askBack(
  asking: Asking,
  { call, ended }: { readonly call: ToolCall; readonly ended: Ended },
  approval: Approval,
): InputRequiredResult {
  const { door } = asking;
  const bound = boundOf(asking, call);
  const requestState = door.states.mint(bound, approval.id, questionEndMs(door, approval));
  const inputRequests = { [QUESTION]: inputRequired.elicit({ mode: 'form', ...approvalForm(approval) }) };
  return { ...inputRequired({ inputRequests, requestState }), _meta: receiptMeta(ended) };
}

/** What a repeated call carries: the approval it is about, and the answer. Null: it is not authentic. */
export function takeAnswer(
  asking: Asking,
  call: ToolCall,
  state: string,
): { readonly approval: string; readonly answered: Answered } | null {
  const approval = asking.door.states.take(state, boundOf(asking, call));
  if (approval === null) return null;
  return { approval, answered: readAnswer(asking.ctx.mcpReq.inputResponses?.[QUESTION]) };
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
    credential: client.caller.credential,
  });
  if (!decided.ok) door.log('warn', 'mcp.answer-refused', { approval: id, code: decided.code });
  return decided.ok;
}

function boundOf({ client }: Asking, call: ToolCall): Bound {
  const { caller } = client;
  return {
    owner: ownerOf(caller),
    approver: caller.approver === null ? '' : formatPrincipal(caller.approver),
    method: 'tools/call',
    tool: call.tool,
    inputDigest: inputDigestOf(call),
  };
}

function questionEndMs({ gateway }: Door, { expiresAtMs }: Approval): number {
  return Math.min(expiresAtMs, gateway.clock.nowMs() + LONGEST_QUESTION_MS);
}

/** The input was written by us, so that it reads as what it is. */
function inputDigestOf({ rawInput }: ToolCall) {
  const text = typeof rawInput === 'string' ? rawInput : Buffer.from(rawInput).toString();
  return digestBytes(canonicalize(JSON.parse(text) as Json));
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/** The form that asks the person at a client about one call. It asks for a yes or a no, never for a secret. */

const MAX_INPUT_CHARS = 2_000;
const MAX_REASON_CHARS = 500;

/** What the person answered; null where nothing was decided. */
export type Answered = { readonly verdict: 'approved' | 'denied'; readonly note: string | null } | null;

const ACCEPTED = z.object({
  action: z.literal('accept'),
  content: z.object({ decision: z.enum(['approve', 'deny']), reason: z.string().optional() }),
});

/** The form for one request. What it shows of the call is sanitised and contains none of our secrets. */
function approvalForm(approval: Approval): Pick<ElicitRequestFormParams, 'message' | 'requestedSchema'> {
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

/** Reads an answer. A form that was dismissed, or that contains anything but a clear decision, decides nothing. */
function readAnswer(raw: unknown): Answered {
  // Boundary: the answer comes from the client.
  const read = ACCEPTED.safeParse(raw);
  if (!read.success) return null;
  const { decision, reason } = read.data.content;
  const note = reason === undefined || reason === '' ? null : safeLine(reason, MAX_REASON_CHARS);
  return { verdict: decision === 'approve' ? 'approved' : 'denied', note };
}
