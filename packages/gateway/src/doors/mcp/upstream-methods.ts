import {
  type CompleteRequest,
  type CompleteResult,
  type GetPromptResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
} from '@modelcontextprotocol/server';
import type { ToolCall } from '../../core/call.ts';
import { safeLine, safeText } from '../../core/hostile-text.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Tool } from '../../core/tool.ts';
import type { Ended } from '../../invoke/finish.ts';
import { doorCall, invoke } from '../../invoke/invoke.ts';
import { openQuestion } from '../../operations/caller-document.ts';
import type { Asking } from './asking.ts';
import { failureFacts, receiptMeta } from './call-result.ts';
import { askedCall } from './call-tool.ts';
import { relayLog } from './relay.ts';
import { notFound } from './resources.ts';
import {
  type AskingMethod,
  aboutState,
  invalidState,
  isRun,
  requireCapabilities,
  resumeCall,
  runCall,
} from './run-call.ts';
import { safeBlock } from './upstream-content.ts';
import type { OfferedPrompt, OfferedResource } from './upstream-offers.ts';

/*
 * What clients request from upstream servers besides tool calls. Each is a call of the line all the same: policies
 * decide it, and its receipt is named in the result. These results cannot express a failure, so it is an error.
 */

/** As the executor passes them on, which leaves out every message of another form. */
type PromptMessages = readonly { readonly role: 'user' | 'assistant'; readonly content: Json }[];

const MAX_MESSAGE_CHARS = 4_096;
const MAX_VALUE_CHARS = 1_000;
/** The error codes that servers use for a missing resource, in the revisions so far. */
const NOT_FOUND: readonly Json[] = [-32_602, -32_002];

/** Reads a resource of an upstream server. */
export async function readUpstream(
  asking: Asking,
  { read }: OfferedResource,
  uri: string,
): Promise<ReadResourceResult | InputRequiredResult> {
  const fetched = await fetchOrAsk(asking, 'resources/read', { tool: read, input: { uri }, uri });
  if (!('output' in fetched)) return fetched;
  const { output, _meta } = fetched as Answered;
  const contents = (output.contents as readonly Json[]).flatMap((content) => {
    const block = safeBlock({ type: 'resource', resource: content });
    return block.type === 'resource' ? [block.resource] : [];
  });
  if (contents.length === 0) throw notFound(uri);
  return { contents, _meta };
}

/** Gets a prompt of an upstream server. */
export async function getUpstream(
  asking: Asking,
  { get, prompt }: OfferedPrompt,
  given: Readonly<Record<string, string>>,
): Promise<GetPromptResult | InputRequiredResult> {
  const input = { name: prompt.name, arguments: { ...given } };
  const fetched = await fetchOrAsk(asking, 'prompts/get', { tool: get, input });
  if (!('output' in fetched)) return fetched;
  const { output, _meta } = fetched as Answered;
  const messages = (output.messages as unknown as PromptMessages).map(({ role, content }) => {
    return { role, content: safeBlock(content) };
  });
  const { description } = output;
  const described =
    typeof description === 'string' ? { description: safeText(description, MAX_MESSAGE_CHARS) } : {};
  return { ...described, messages, _meta };
}

/** Asks an upstream server for completions of what was typed. */
async function completeUpstream(
  asking: Asking,
  complete: Tool,
  { ref, argument, context }: CompleteRequest['params'],
): Promise<CompleteResult> {
  const input = { ref, argument, ...(context?.arguments === undefined ? {} : { context }) } as JsonObject;
  const { door, client, ctx } = asking;
  requirePlace(asking);
  const call = callOf(asking, { tool: complete, input });
  const ending = invoke(door.gateway, call, ctx.mcpReq.signal);
  const { output, _meta } = outputOf(asking, await door.calls.track(client.caller.credential, ending));
  const completion = output.completion as unknown as CompleteResult['completion'];
  const values = completion.values.map((each) => safeLine(each, MAX_VALUE_CHARS));
  return { completion: { ...completion, values }, _meta };
}

type Answered = { readonly output: JsonObject; readonly _meta: Record<string, unknown> };
type Fetching = { readonly tool: Tool; readonly input: JsonObject; readonly uri?: string };

/** Fetches by a method whose answer may be a question of the server. */
async function fetchOrAsk(
  asking: Asking,
  method: AskingMethod,
  fetching: Fetching,
): Promise<Answered | InputRequiredResult> {
  const call = callOf(asking, fetching);
  const about = aboutState(asking, method, call);
  if (about !== null && !('open' in about)) throw invalidState();
  if (about === null) requirePlace(asking);
  const hearing = { onLog: relayLog(asking) };
  const answering =
    about === null ? runCall(asking, method, call, hearing) : resumeCall(asking, method, about.open, hearing);
  const answer = await asking.door.calls.track(asking.client.caller.credential, answering);
  return isRun(answer) ? outputOf(asking, answer.ended, fetching.uri) : answer;
}

/** A call that waits for an answer holds its place; only another one needs a free one. */
function requirePlace({ door, client }: Asking): void {
  if (door.calls.isFull(client.caller.credential))
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'As many calls as may be are running already');
}

function callOf({ door, client, ctx }: Asking, { tool, input }: Fetching): ToolCall {
  const asked = askedCall(client, ctx, { name: tool.id, arguments: input }, undefined);
  return doorCall(door.gateway, client.caller, asked);
}

function outputOf(asking: Asking, ended: Ended, uri?: string): Answered {
  const { outcome } = ended;
  if (outcome.status === 'ok') return { output: outcome.output as JsonObject, _meta: receiptMeta(ended) };
  if (uri !== undefined && isNotFound(ended)) throw notFound(uri);
  requireCapabilities(asking, ended);
  const facts = failureFacts(ended, openQuestion(asking.door.gateway, ended));
  throw new ProtocolError(ProtocolErrorCode.InternalError, `${facts.code}: ${facts.message}`, facts);
}

/** The server says that there is nothing at this address. */
function isNotFound({ outcome }: Ended): boolean {
  const output =
    outcome.status === 'failed' ? (outcome.output as { readonly error?: JsonObject } | null) : null;
  return NOT_FOUND.includes(output?.error?.code ?? null);
}

const NOTHING: CompleteResult = { completion: { values: [], total: 0, hasMore: false } };

/** `completion/complete`: forwarded for prompts and templates of upstream servers; our own have no completions. */
export async function complete(asking: Asking, params: CompleteRequest['params']): Promise<CompleteResult> {
  const { ref } = params;
  const offered = asking.door.offers.of(asking.client.caller);
  const found = ref.type === 'ref/prompt' ? offered.prompts.get(ref.name) : offered.templates.get(ref.uri);
  if (found === undefined || found.complete === null) return NOTHING;
  // The server knows its prompt by the name without our prefix.
  const own = 'prompt' in found ? { type: 'ref/prompt' as const, name: found.prompt.name } : ref;
  return completeUpstream(asking, found.complete, { ...params, ref: own });
}
