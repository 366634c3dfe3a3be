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
import { type AskedCall, doorCall } from '../../invoke/invoke.ts';
import { openQuestion, openRequest } from '../../operations/caller-document.ts';
import { answerIn, askBack, askNow, giveAnswer } from './ask-approval.ts';
import { type Asking, approverHere } from './asking.ts';
import { resultOf, turnedAway } from './call-result.ts';
import { type Client, ownerOf } from './door.ts';
import type { Hearing } from './open-call.ts';
import { startProgress } from './progress.ts';
import { relayLog } from './relay.ts';
import {
  aboutState,
  invalidState,
  isRun,
  type Run,
  requireCapabilities,
  resumeCall,
  runCall,
} from './run-call.ts';
import type { ListedTool } from './tool-lists.ts';
import { toolIdIn } from './tool-name.ts';

/** The run that a client names for its call: a label, or a session that its credential has begun. */
const RUN_META_KEY = 'dev.palisade/run';

const CLAIM_META_KEYS = ['dev.palisade/device', 'dev.palisade/channel', 'dev.palisade/session'] as const;

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const SHOWN_NAME_CHARS = 128;
const METHOD = 'tools/call';
const FULL = ['door/rate-limited', 'Cannot take the call: as many as may be are running already'] as const;

type Params = CallToolRequest['params'];
type CallAnswer = CallToolResult | InputRequiredResult;

/** `tools/call`: one call of the line, and its ending as an MCP result. */
export async function callTool(asking: Asking, params: Params): Promise<CallAnswer> {
  const { door, client, ctx } = asking;
  const { credential } = client.caller;
  const { onCancelled } = client;
  if (onCancelled !== undefined)
    ctx.mcpReq.signal.addEventListener('abort', () => onCancelled(ctx.mcpReq.id), { once: true });
  const progress = startProgress(ctx.mcpReq._meta?.progressToken, ctx.mcpReq.notify, door.gateway.clock);
  const listed = door.tools.find(client.caller, params.name);
  const asked = askedCall(client, ctx, params, listed);
  const hearing = { ...progress, onLog: relayLog(asking) };
  try {
    const answer = await door.calls.track(credential, runAndAsk(asking, asked, listed, hearing));
    door.changes.called(ownerOf(client.caller));
    return answer;
  } finally {
    progress.stop();
  }
}

/** The input does not identify the caller: that is up to the credential, whatever the request says. */
export function askedCall(
  { connection }: Client,
  ctx: ServerContext,
  params: Params,
  listed: ListedTool | undefined,
): AskedCall {
  const meta: Readonly<Record<string, unknown>> = ctx.mcpReq._meta ?? {};
  refuseClaims(meta);
  const named = meta[RUN_META_KEY];
  const trace = meta[TRACEPARENT_META_KEY];
  return {
    door: 'mcp',
    tool: listed?.tool.id ?? toolIdIn(params.name),
    rawInput: JSON.stringify(params.arguments ?? {}),
    run: typeof named === 'string' && isName(named) ? named : null,
    ...(connection === null ? {} : { connection }),
    ...(typeof trace === 'string' && TRACEPARENT.test(trace) ? { trace } : {}),
  };
}

/** Boundary: what a client says of its device, channel or session would be believed by no policy, and is told so. */
function refuseClaims(meta: Readonly<Record<string, unknown>>): void {
  const claimed = CLAIM_META_KEYS.find((key) => Object.hasOwn(meta, key));
  if (claimed === undefined) return;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `Cannot take "${claimed}" of _meta: what it names comes from the credential, expected a call without it`,
  );
}

async function runAndAsk(
  asking: Asking,
  asked: AskedCall,
  listed: ListedTool | undefined,
  hearing: Hearing,
): Promise<CallAnswer> {
  const make = () => doorCall(asking.door.gateway, asking.client.caller, asked);
  const run = () => runCall(asking, METHOD, make(), hearing);
  const about = aboutState(asking, METHOD, make());
  if (about !== null && 'open' in about)
    return tell(asking, await resumeCall(asking, METHOD, about.open, hearing), listed);
  // A call that waits for an answer holds its place; only another one needs a free one.
  if (asking.door.calls.isFull(asking.client.caller.credential)) return turnedAway(...FULL);
  if (about !== null) {
    await bringAnswer(asking, make(), about.approval);
    return tell(asking, await run(), listed);
  }
  const first = await run();
  if (!isRun(first)) return first;
  const approver = approverHere(asking);
  const approval = listed === undefined ? null : openRequest(asking.door.gateway, first.ended);
  if (approval === null || approver === null) return tell(asking, first, listed);
  if (asking.client.era === 'modern') return askBack(asking, first, approval);
  const answered = await askNow(asking, first.call, approval);
  const counts = answered !== null && (await giveAnswer(asking, approver, approval.id, answered));
  // A client that has given up in the meantime does not use up the approval.
  if (!counts || asking.ctx.mcpReq.signal.aborted) return tell(asking, first, listed);
  return tell(asking, await run(), listed);
}

/** Accepts the answer in a repeated call; the call is then made like any other, and finds it. */
async function bringAnswer(asking: Asking, call: ToolCall, approval: string): Promise<void> {
  const approver = approverHere(asking);
  if (approver === null) throw invalidState();
  const answered = answerIn(asking, call, approval);
  if (answered !== null) await giveAnswer(asking, approver, approval, answered);
}

function tell(asking: Asking, answer: Run | InputRequiredResult, listed: ListedTool | undefined): CallAnswer {
  if (!isRun(answer)) return answer;
  const { call, ended } = answer;
  const { door, server } = asking;
  // Boundary: a tool the caller may not see is answered like a missing one; the call is recorded all the same.
  if (listed === undefined && ended.outcome.status === 'refused') throw unknownTool(call.tool);
  const isMcpResult = listed?.tool.isMcpResult === true;
  if (isMcpResult) requireCapabilities(asking, ended);
  const result = resultOf(ended, isMcpResult, openQuestion(door.gateway, ended));
  return server.projectCallToolResult(result, listed?.wire.outputSchema);
}

function unknownTool(name: string): ProtocolError {
  const shown = safeLine(name, SHOWN_NAME_CHARS);
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${shown}`);
}
