import {
  type InputRequiredResult,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { canonicalize } from '@palisade/sdk';
import type { ToolCall } from '../../core/call.ts';
import { digestBytes } from '../../core/digest.ts';
import type { Json } from '../../core/json.ts';
import { formatPrincipal } from '../../core/principal.ts';
import type { Ended } from '../../invoke/finish.ts';
import { invoke } from '../../invoke/invoke.ts';
import type { RunQuestion } from '../../tiers/tier.ts';
import { type Asking, declaredBy, showsForms } from './asking.ts';
import { ownerOf } from './door.ts';
import { type Hearing, OpenCall } from './open-call.ts';
import { LONGEST_QUESTION_MS } from './open-calls.ts';
import { answersTo, formOf, relayQuestions } from './relay.ts';
import type { Bound } from './request-states.ts';

/*
 * One call of the line for a request of a client, with the questions of its upstream server. In the legacy era a question
 * is a request to the client while its own request stays open. In the modern era it is the answer: the call is kept, and
 * the client comes again with a state that leads to it.
 */

/** The methods whose answer may be a question. */
export type AskingMethod = 'tools/call' | 'prompts/get' | 'resources/read';

export type Run = { readonly call: ToolCall; readonly ended: Ended };

/** Whether a call ran to its end; else the client has to answer first. */
export function isRun(answer: Run | InputRequiredResult): answer is Run {
  return 'ended' in answer;
}

/** Runs a call to its end, or to a question that the client has to answer. */
export async function runCall(
  asking: Asking,
  method: AskingMethod,
  call: ToolCall,
  hearing: Hearing,
): Promise<Run | InputRequiredResult> {
  const { door, client, ctx } = asking;
  const { signal, inputResponses } = ctx.mcpReq;
  if (client.era === 'legacy') {
    const onQuestions = relayQuestions(asking);
    return { call, ended: await invoke(door.gateway, call, signal, { ...hearing, onQuestions }) };
  }
  const wanted = { asks: showsForms(asking), progress: hearing.onProgress !== undefined };
  const open = new OpenCall(call, wanted, (ends, listeners) => invoke(door.gateway, call, ends, listeners));
  const turn = await open.next(signal, hearing);
  // Boundary: with a state, the answers are to a form of ours, and are not for a server that gives its question the same key.
  const isFirst = ctx.mcpReq.requestState() === undefined;
  // Answers that came with the first request are those to the first questions, if they are about them.
  const early = isFirst && 'questions' in turn ? answersTo(turn.questions, inputResponses) : null;
  if (early === null) return passOn(asking, method, open, turn);
  open.answer(early);
  return passOn(asking, method, open, await open.next(signal, hearing));
}

/** Goes on with a call that was kept, if the request has an answer to each of its questions; else it asks again. */
export async function resumeCall(
  asking: Asking,
  method: AskingMethod,
  open: OpenCall,
  hearing: Hearing,
): Promise<Run | InputRequiredResult> {
  const { signal, inputResponses } = asking.ctx.mcpReq;
  const { questions } = open;
  const answers = answersTo(questions, inputResponses);
  if (answers !== null) open.answer(answers);
  return passOn(asking, method, open, await open.next(signal, hearing));
}

function passOn(
  asking: Asking,
  method: AskingMethod,
  open: OpenCall,
  turn: Awaited<ReturnType<OpenCall['next']>>,
): Run | InputRequiredResult {
  if ('ended' in turn) return { call: open.call, ended: turn.ended };
  return askClient(asking, method, open, turn.questions);
}

function askClient(
  asking: Asking,
  method: AskingMethod,
  open: OpenCall,
  questions: readonly RunQuestion[],
): InputRequiredResult {
  const { door, client } = asking;
  const endsAtMs = door.gateway.clock.nowMs() + LONGEST_QUESTION_MS;
  const requestState = door.states.mint(boundOf(asking, open.call, method), open.call.id, endsAtMs);
  const kept = door.openCalls.keep(open, client.connection, LONGEST_QUESTION_MS);
  void door.calls.track(client.caller.credential, kept);
  const forms = questions.map(
    (each) => [each.key, inputRequired.elicit({ mode: 'form', ...formOf(each) })] as const,
  );
  return inputRequired({ inputRequests: Object.fromEntries(forms), requestState });
}

/** What the state of a repeated request is about: an approval, or a call that was kept. Throws where it is not valid. */
export function aboutState(
  asking: Asking,
  method: AskingMethod,
  call: ToolCall,
): { readonly approval: string } | { readonly open: OpenCall } | null {
  const { door, ctx } = asking;
  const state: unknown = ctx.mcpReq.requestState();
  if (state === undefined) return null;
  const about = typeof state === 'string' ? door.states.take(state, boundOf(asking, call, method)) : null;
  // Boundary: a state that is forged, spent, too old, of another caller or of another call ends the request here.
  if (about === null) throw invalidState();
  if (about.startsWith('apr_')) return { approval: about };
  const open = door.openCalls.take(about);
  if (open === null) throw invalidState();
  return { open };
}

/** Everything that the answer to a question about this call is bound to. */
export function boundOf({ client }: Asking, call: ToolCall, method: AskingMethod): Bound {
  const { caller } = client;
  return {
    owner: ownerOf(caller),
    approver: caller.approver === null ? '' : formatPrincipal(caller.approver),
    method,
    tool: call.tool,
    inputDigest: inputDigestOf(call),
  };
}

/** The input was written by us, so that it reads as what it is. */
function inputDigestOf({ rawInput }: ToolCall) {
  const text = typeof rawInput === 'string' ? rawInput : Buffer.from(rawInput).toString();
  return digestBytes(canonicalize(JSON.parse(text) as Json));
}

export function invalidState(): ProtocolError {
  const data = { reason: 'invalid_request_state' };
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', data);
}

type Needing = { readonly error?: { readonly required?: readonly string[] } } | null;

/** Throws where an upstream server needs a capability that this client of the modern era has not declared. */
export function requireCapabilities(asking: Asking, { outcome }: Ended): void {
  if (asking.client.era === 'legacy' || outcome.status !== 'failed') return;
  const required = (outcome.output as Needing)?.error?.required ?? [];
  const declared: Readonly<Record<string, unknown>> = declaredBy(asking);
  const missing = required.filter((name) => declared[name] === undefined);
  if (missing.length === 0) return;
  const requiredCapabilities = Object.fromEntries(missing.map((name) => [name, {}]));
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
}
