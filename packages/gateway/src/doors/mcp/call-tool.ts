import {
  type CallToolRequest,
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  TRACEPARENT_META_KEY,
} from '@modelcontextprotocol/server';
import type { ToolCall } from '../../core/call.ts';
import { safeLine } from '../../core/hostile-text.ts';
import { isName } from '../../core/principal.ts';
import type { Ended } from '../../invoke/finish.ts';
import { type AskedCall, doorCall, invoke } from '../../invoke/invoke.ts';
import { openQuestion, openRequest } from '../../operations/call-document.ts';
import { type Asking, approverHere, askBack, askNow, giveAnswer, takeAnswer } from './ask-approval.ts';
import { resultOf, turnedAway } from './call-result.ts';
import { type Client, ownerOf } from './door.ts';
import { startProgress } from './progress.ts';
import { relayLog, relayQuestions } from './relay.ts';
import type { ListedTool } from './tool-lists.ts';
import { toolIdIn } from './tool-name.ts';

/** The run that a client names for its call, beside the one of its session. */
const RUN_META_KEY = 'dev.palisade/run';

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const SHOWN_NAME_CHARS = 128;

type Params = CallToolRequest['params'];
type Run = { readonly call: ToolCall; readonly ended: Ended };
type CallAnswer = CallToolResult | InputRequiredResult;

/** `tools/call`: one call of the line, and its ending as an MCP result. */
export async function callTool(asking: Asking, params: Params): Promise<CallAnswer> {
  const { door, client, ctx } = asking;
  const { credential } = client.caller;
  if (door.calls.isFull(credential)) {
    return turnedAway('door/rate-limited', 'Cannot take the call: as many as may be are running already');
  }
  const { onCancelled } = client;
  if (onCancelled !== undefined)
    ctx.mcpReq.signal.addEventListener('abort', () => onCancelled(ctx.mcpReq.id), { once: true });
  const progress = startProgress(ctx.mcpReq._meta?.progressToken, ctx.mcpReq.notify, door.gateway.clock);
  const listeners = { ...progress, onLog: relayLog(asking), onQuestion: relayQuestions(asking) };
  const listed = door.tools.find(client.caller, params.name);
  const asked = askedCall(client, ctx, params, listed);
  const run = async (): Promise<Run> => {
    const call = doorCall(door.gateway, client.caller, asked);
    return { call, ended: await invoke(door.gateway, call, ctx.mcpReq.signal, listeners) };
  };
  try {
    const answer = await door.calls.track(credential, runAndAsk(asking, run, asked, listed));
    door.changes.called(ownerOf(client.caller));
    return answer;
  } finally {
    progress.stop();
  }
}

/** The input does not identify the caller: that is up to the credential, whatever the request says. */
export function askedCall(
  client: Client,
  ctx: ServerContext,
  params: Params,
  listed: ListedTool | undefined,
): AskedCall {
  const meta: Readonly<Record<string, unknown>> = ctx.mcpReq._meta ?? {};
  const named = meta[RUN_META_KEY];
  const trace = meta[TRACEPARENT_META_KEY];
  return {
    door: 'mcp',
    tool: listed?.tool.id ?? toolIdIn(params.name),
    rawInput: JSON.stringify(params.arguments ?? {}),
    run: typeof named === 'string' && isName(named) ? named : client.run,
    ...(typeof trace === 'string' && TRACEPARENT.test(trace) ? { trace } : {}),
  };
}

async function runAndAsk(
  asking: Asking,
  run: () => Promise<Run>,
  asked: AskedCall,
  listed: ListedTool | undefined,
): Promise<CallAnswer> {
  const state: unknown = asking.ctx.mcpReq.requestState();
  if (state !== undefined) {
    await bringAnswer(asking, asked, state);
    return tell(asking, await run(), listed);
  }
  const first = await run();
  const approver = approverHere(asking);
  const approval = listed === undefined ? null : openRequest(asking.door.gateway, first.ended);
  if (approval === null || approver === null) return tell(asking, first, listed);
  if (asking.client.era === 'modern') return askBack(asking, first, approval);
  const answered = await askNow(asking, approval);
  const counts = answered !== null && (await giveAnswer(asking, approver, approval.id, answered));
  // A client that has given up in the meantime does not use up the approval.
  if (!counts || asking.ctx.mcpReq.signal.aborted) return tell(asking, first, listed);
  return tell(asking, await run(), listed);
}

/** Accepts the answer in a repeated call; the call is then made like any other, and finds it. */
async function bringAnswer(asking: Asking, asked: AskedCall, state: unknown): Promise<void> {
  const { door, client } = asking;
  const call = doorCall(door.gateway, client.caller, asked);
  const approver = approverHere(asking);
  const taken = typeof state === 'string' && approver !== null ? takeAnswer(asking, call, state) : null;
  // Boundary: a state that is forged, spent, too old, of another caller or of another call ends the request here.
  if (taken === null || approver === null) throw invalidState();
  if (taken.answered !== null) await giveAnswer(asking, approver, taken.approval, taken.answered);
}

function tell(
  { door, server }: Asking,
  { call, ended }: Run,
  listed: ListedTool | undefined,
): CallToolResult {
  // Boundary: a tool the caller may not see is answered like a missing one; the call is recorded all the same.
  if (listed === undefined && ended.outcome.status === 'refused') throw unknownTool(call.tool);
  const isMcpResult = listed?.tool.isMcpResult === true;
  const result = resultOf(ended, isMcpResult, openQuestion(door.gateway, ended));
  return server.projectCallToolResult(result, listed?.wire.outputSchema);
}

function unknownTool(name: string): ProtocolError {
  const shown = safeLine(name, SHOWN_NAME_CHARS);
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${shown}`);
}

function invalidState(): ProtocolError {
  const data = { reason: 'invalid_request_state' };
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', data);
}
