import type { CallToolResult } from '@modelcontextprotocol/server';
import { CODES, type Code, type Wire } from '@palisade/sdk';
import { digestBytes } from '../../core/digest.ts';
import { cut, MAX_TEXT_CHARS, safeJson, safeLine } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import type { Ended } from '../../invoke/finish.ts';
import { mcpContentOf } from './upstream-content.ts';

/** Where a result says which call it is of and how to prove it. */
const RECEIPT_META_KEY = 'dev.palisade/receipt';

const MAX_MESSAGE_CHARS = 4_096;

/** How a call ended, as an MCP result. A failure is a result too, so that a model can read it and do better. */
export function resultOf(
  ended: Ended,
  isMcpResult: boolean,
  open: Wire.AskedApproval | null,
): CallToolResult {
  const { outcome, callId } = ended;
  const _meta = { ...receiptMeta(ended), ...logMeta(ended) };
  const isOwnError = outcome.status === 'failed' && outcome.code === 'tier/tool-error';
  // An error of an upstream tool is what its server says, and nothing of ours.
  if (isMcpResult && (outcome.status === 'ok' || isOwnError))
    return { ...mcpContentOf(outcome.output), _meta };
  if (outcome.status !== 'ok') return { ...failureOf(ended, open), _meta };
  const content = [textOf(outcome.output, callId)];
  return { content, structuredContent: outcome.output as CallToolResult['structuredContent'], _meta };
}

/** The result of a request that the door itself refused; no call was made. */
export function turnedAway(code: Code, message: string): CallToolResult {
  const { remedy } = CODES[code];
  const content = [{ type: 'text' as const, text: sentence(code, message, remedy) }];
  return { isError: true, content, structuredContent: { status: 'refused', code, message, remedy } };
}

/** How a call failed, in text that is safe to show, and which approval a person has yet to give. */
export function failureFacts({ outcome, callId }: Ended, open: Wire.AskedApproval | null) {
  if (outcome.status === 'ok') throw new TypeError('Cannot tell a failure: the call went well');
  const { status, code } = outcome;
  const message = safeLine(outcome.message, MAX_MESSAGE_CHARS);
  const remedy = safeLine(outcome.remedy, MAX_MESSAGE_CHARS);
  if (open === null) return { status, code, message, remedy, callId };
  const { id: approvalId, ...how } = open;
  // An agent with a shell of its own would otherwise take the command for its own next step.
  const ask = `Ask your user to run \`${how.approveWith}\` and never run it yourself; then repeat the identical call.`;
  return { status: 'approval_required', code, message, remedy: ask, callId, approvalId, ...how };
}

function failureOf(ended: Ended, open: Wire.AskedApproval | null): CallToolResult {
  const { outcome, callId } = ended;
  const facts = failureFacts(ended, open);
  const text = sentence(facts.code, facts.message, facts.remedy);
  const content: CallToolResult['content'] = [{ type: 'text', text }];
  if (outcome.status !== 'failed') return { isError: true, content, structuredContent: facts };
  const { output, truncated } = outcome;
  if (output !== null) content.push(textOf(output, callId));
  return { isError: true, content, structuredContent: { ...facts, output, truncated } };
}

function sentence(code: string, message: string, remedy: string): string {
  return `${code}: ${message}. ${remedy}`;
}

/** The copy of an output for readers of text; if truncated, it says where the whole output is. */
function textOf(output: Json, callId: string): CallToolResult['content'][number] {
  const text = safeJson(output);
  if (text.length <= MAX_TEXT_CHARS) return { type: 'text', text };
  return { type: 'text', text: `${cut(text, MAX_TEXT_CHARS)} All of it: ${callUri(callId, 'output')}` };
}

/** Names the call behind a result and the digest of its receipt. */
export function receiptMeta({ callId, outcome, receipt, usage }: Ended) {
  const { status, code } = outcome;
  const sha256 = receipt === null ? null : digestBytes(receipt);
  return { [RECEIPT_META_KEY]: { callId, status, code, usage, receipt: sha256 } };
}

/** Where a result has what the guest logged and was denied; models are not shown it. */
const LOG_META_KEY = 'dev.palisade/log';
const MOST_LINES = 50;
const MOST_LINE_CHARS = 500;

/** The end of the log, cut to what a result may carry; the resource of the call has all of it. */
function logMeta({ log, callId }: Ended) {
  if (log === undefined) return {};
  const { lines, isCut, denied, deniedMore, trap } = log;
  const last = lines.slice(-MOST_LINES);
  const shown = last.map(({ level, text }) => ({ level, text: cut(text, MOST_LINE_CHARS) }));
  const all = callUri(callId, 'log');
  return {
    [LOG_META_KEY]: {
      lines: shown,
      isCut: isCut || last.length < lines.length,
      denied,
      deniedMore,
      trap,
      all,
    },
  };
}

/** What can be read of a call that has ended. */
export type CallPart = 'receipt' | 'output' | 'log';

export const CALL_PARTS: readonly CallPart[] = ['receipt', 'output', 'log'];

const URI = /^palisade:\/\/calls\/(call_[0-9a-z]{25})\/(receipt|output|log)$/;

/** Where a part of a call can be read. */
export function callUri(callId: string, part: CallPart): string {
  return `palisade://calls/${callId}/${part}`;
}

/** Reads such an address; null for any other. */
export function parseCallUri(uri: string): { readonly callId: string; readonly part: CallPart } | null {
  const [, callId, part] = URI.exec(uri) ?? [];
  return callId === undefined || part === undefined ? null : { callId, part: part as CallPart };
}
