import {
  type GetPromptResult,
  type InputRequiredResult,
  type ListPromptsResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { show } from '../../approval/requests.ts';
import type { Caller } from '../../core/caller.ts';
import { isoTime } from '../../core/clock.ts';
import { safeLine, safeText } from '../../core/hostile-text.ts';
import { formatPrincipal } from '../../core/principal.ts';
import { keptCall, ownCallReader } from '../../operations/call-view.ts';
import type { Asking } from './asking.ts';
import type { Door } from './door.ts';
import { getUpstream } from './upstream-methods.ts';
import type { OfferedPrompt } from './upstream-offers.ts';

const MAX_WORD_CHARS = 128;
const MAX_TEXT_CHARS = 4_096;

type Arguments = Readonly<Record<string, string>>;

type PromptRow = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly argument: { readonly name: string; readonly description: string };
  /** The text of the prompt; null if what the argument names does not exist or is not the caller's. */
  readonly text: (door: Door, caller: Caller, value: string) => string | null;
};

/** What people can pick in their client when a call was not run. */
const PROMPTS: readonly PromptRow[] = [
  {
    name: 'explain-refusal',
    title: 'Why was this call not run?',
    description: 'Has the model say why a call was refused or failed, and what can be done.',
    argument: { name: 'call', description: 'The id of the call, as call_…' },
    text: explainRefusal,
  },
  {
    name: 'request-approval',
    title: 'Ask for an approval',
    description: 'Has the model put an open approval request to a person, in words that can be judged.',
    argument: { name: 'approval', description: 'The id of the request, as apr_…' },
    text: requestApproval,
  },
];

export function listPrompts({ offers }: Door, caller: Caller): ListPromptsResult {
  const prompts = PROMPTS.map(({ name, title, description, argument }) => {
    return { name, title, description, arguments: [{ ...argument, required: true }] };
  });
  const others = [...offers.of(caller).prompts].filter(([name]) => ownPrompt(name) === undefined);
  return { prompts: [...prompts, ...others.map(upstreamPrompt)] };
}

/** A prompt of ours, or of an upstream server; of two of one name, ours. */
export async function getPrompt(
  asking: Asking,
  name: string,
  given: Arguments,
): Promise<GetPromptResult | InputRequiredResult> {
  const { door, client } = asking;
  const prompt = ownPrompt(name);
  if (prompt !== undefined) return getOwn(door, client.caller, prompt, given);
  const offered = door.offers.of(client.caller).prompts.get(name);
  if (offered === undefined) throw invalid(`Unknown prompt: ${safeLine(name, MAX_WORD_CHARS)}`);
  const missing = offered.prompt.arguments.find((each) => each.isRequired && given[each.name] === undefined);
  if (missing !== undefined) throw invalid(`Missing argument: ${missing.name}`);
  return getUpstream(asking, offered, given);
}

function ownPrompt(name: string): PromptRow | undefined {
  return PROMPTS.find((each) => each.name === name);
}

function upstreamPrompt([name, { prompt }]: readonly [string, OfferedPrompt]) {
  const { title, description, arguments: asked } = prompt;
  return {
    name,
    ...(title === null ? {} : { title: safeLine(title, MAX_WORD_CHARS) }),
    description: safeText(description, MAX_TEXT_CHARS),
    arguments: asked.map((each) => ({
      name: each.name,
      description: safeText(each.description, MAX_TEXT_CHARS),
      required: each.isRequired,
    })),
  };
}

function getOwn(door: Door, caller: Caller, prompt: PromptRow, given: Arguments): GetPromptResult {
  const value = given[prompt.argument.name];
  if (value === undefined) throw invalid(`Missing argument: ${prompt.argument.name}`);
  const text = prompt.text(door, caller, value);
  if (text === null) throw invalid(`Cannot find "${safeLine(value, MAX_WORD_CHARS)}" among your own`);
  const { description } = prompt;
  return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
}

function explainRefusal(door: Door, caller: Caller, callId: string): string | null {
  const kept = keptCall(ownCallReader({ gateway: door.gateway, caller }), callId);
  if (kept === null) return null;
  const { tool, status, code, message, remedy } = kept;
  const facts = { tool, status, code, message, remedy };
  const shown = safeLine(JSON.stringify(facts), MAX_TEXT_CHARS);
  return `Palisade ended the call ${callId} like this: ${shown} Say in plain words why, and what I can do about it. Do not try to get around it.`;
}

function requestApproval({ gateway }: Door, caller: Caller, id: string): string | null {
  const asked = show(gateway.store, id);
  const isOwn =
    asked !== null && asked.tenant === caller.tenant && asked.principal === formatPrincipal(caller.principal);
  if (!isOwn) return null;
  const { tool, risk, inputText, expiresAtMs } = asked;
  const shown = safeLine(JSON.stringify({ tool, risk, input: inputText }), MAX_TEXT_CHARS);
  return `A call waits for a person's approval: ${shown} Tell me what it would do and why it is needed, so that I can decide. I approve it with \`${gateway.approveCommand(asked.id)}\` until ${isoTime(expiresAtMs)}; then repeat the identical call.`;
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
