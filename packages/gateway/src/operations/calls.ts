import * as z from 'zod';
import type { ToolCall } from '../core/call.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Json } from '../core/json.ts';
import { doorCall, invoke } from '../invoke/invoke.ts';
import { call, callEvent, callLog, callProblem, ending } from './call-schemas.ts';
import {
  callReader,
  cancelCall,
  findCall,
  findEnded,
  listCalls,
  listedDocument,
  logOf,
  receiptFor,
  shownDocument,
} from './call-view.ts';
import { type CallerDocument, callerDocument } from './caller-document.ts';
import {
  EventStream,
  type OpenedGateway,
  type Operation,
  type OperationContext,
  OperationProblem,
  operation,
} from './operation.ts';
import {
  anyJson,
  callIdText,
  envelope,
  isoTimeText,
  nameText,
  nextCursor,
  pageInput,
  pageOf,
  principalText,
  someId,
  toolName,
} from './schema-parts.ts';
import { streamCall } from './stream-call.ts';

/* Calls: made, read, cancelled. A run is what its calls name as such, else the session that the gateway made for them. */

const PAGE = 50;
const RUN_PAGE = 100;
const MAX_TIMEOUT_MS = 86_400_000;
const TRACE = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

const callFacts = {
  callId: callIdText,
  principal: principalText,
  tool: z.string(),
  run: z.string().nullable().describe('The label that its caller gave, else its session.'),
  session: z.string().nullable().describe('The session that budgets per run count it by; null: none.'),
  door: z.string(),
};
const runningCall = z
  .object({ state: z.literal('running'), ...callFacts, startedAt: isoTimeText })
  .meta({ id: 'RunningCall' });
const endedCall = z
  .object({
    state: z.literal('ended'),
    ...callFacts,
    endedAt: isoTimeText,
    ...ending.pick({ status: true, code: true, message: true, remedy: true, usage: true }).shape,
    truncated: z.boolean(),
  })
  .meta({ id: 'EndedCall' });
const listedCall = z.discriminatedUnion('state', [runningCall, endedCall]);
const shownCall = z.discriminatedUnion('state', [
  runningCall,
  endedCall.extend({
    output: anyJson,
    isOutputKept: z.boolean().describe('False: there was more output than is kept, and `output` is null.'),
    receipt: envelope.nullable(),
  }),
]);

const id = someId.describe('The id of a call.');
const cursor = callIdText.optional().describe('The cursor of the page before; left out: the first page.');

/** What a call is made of. The caller is in the credential, and nowhere else. */
const callInput = z.strictObject({
  tool: toolName,
  input: anyJson.optional().describe('What the tool is given; left out: {}.'),
  run: nameText
    .optional()
    .describe('A label to find the call by, or a session that the credential has begun (ses_…).'),
  timeoutMs: z.int().min(1).max(MAX_TIMEOUT_MS).optional().describe('The wall-clock limit asked for.'),
  idempotencyKey: z.string().optional(),
  trace: z.string().optional(),
  asEvents: z.boolean().optional(),
});

const facts = { noun: 'calls', scope: null, action: 'readJournal', opens: 'gateway' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'createCall',
    sentence:
      'Calls a tool and waits for its ending. With `accept: text/event-stream` the reply is the events `started` {callId}, `output` {stream, text or base64} and `ended`, whose data is the document.',
    scope: 'call',
    action: 'call',
    http: {
      method: 'POST',
      path: '/v1/calls',
      headers: {
        accept: { member: 'asEvents', sentence: 'text/event-stream to follow the call event by event.' },
        'idempotency-key': {
          member: 'idempotencyKey',
          sentence:
            'Runs the call once, however often it is repeated: 1 to 255 visible characters. Such a call goes on when its client goes away.',
        },
        traceparent: {
          member: 'trace',
          sentence: 'The trace that the call is a part of (W3C Trace Context).',
        },
      },
    },
    input: callInput,
    output: {
      schema: call,
      sentence: 'The call ran and succeeded; every other ending is a problem.',
      events: callEvent,
      problem: callProblem,
    },
    handle: startCall,
  }),
  operation({
    ...facts,
    name: 'listCalls',
    sentence: 'Lists calls, the newest first: one’s own, and those of others for who may read them.',
    http: { method: 'GET', path: '/v1/calls' },
    input: pageInput(PAGE).extend({
      cursor,
      state: z.enum(['running', 'ended']).optional().describe('Only calls in this state.'),
      run: nameText.optional().describe('Only calls with this label, or of this session.'),
    }),
    output: pageOf('calls', listedCall),
    handle: (context, wanted) => {
      const page = listCalls(callReader(context), wanted);
      return { calls: page.calls.map(listedDocument), cursor: page.cursor };
    },
  }),
  operation({
    ...facts,
    name: 'getCall',
    sentence: 'Shows a call that runs, or all that is kept of one that has ended.',
    http: { method: 'GET', path: '/v1/calls/{id}' },
    input: z.strictObject({ id }),
    output: { schema: shownCall, sentence: 'The call.' },
    handle: (context, input) => {
      const reader = callReader(context);
      return shownDocument(reader, findCall(reader, input.id));
    },
  }),
  operation({
    ...facts,
    name: 'getCallReceipt',
    sentence: 'Gives the signed receipt of a call, which anyone can verify with the public keys.',
    http: { method: 'GET', path: '/v1/calls/{id}/receipt' },
    input: z.strictObject({ id }),
    output: { schema: envelope, sentence: 'A DSSE envelope.' },
    handle: (context, input) => {
      const reader = callReader(context);
      const receipt = receiptFor(reader, findEnded(reader, input.id));
      if (receipt !== null) return JSON.parse(receipt) as Json;
      throw new CodedError(
        'journal/unknown-record',
        `Cannot find the receipt of "${input.id}": the call has none`,
      );
    },
  }),
  operation({
    ...facts,
    name: 'getCallOutput',
    sentence: 'Gives the output of a call, as JSON.',
    http: { method: 'GET', path: '/v1/calls/{id}/output' },
    input: z.strictObject({ id }),
    output: { schema: anyJson, sentence: 'What the tool gave, and nothing beside it.' },
    handle: (context, input) => {
      const { output, isOutputKept } = findEnded(callReader(context), input.id);
      if (isOutputKept) return output;
      const message = `Cannot give the output of "${input.id}": it was larger than what is kept`;
      const remedy = 'Have the operator raise runs.keep_output_bytes in palisade.toml, then call again.';
      throw new CodedError('run/unknown', message, { remedy });
    },
  }),
  operation({
    ...facts,
    name: 'getCallLog',
    sentence:
      'Gives what the guest of a call logged, why host calls were denied, and where it trapped; kept as long as the output.',
    http: { method: 'GET', path: '/v1/calls/{id}/log' },
    input: z.strictObject({ id }),
    output: {
      schema: callLog.extend({ callId: callIdText, tool: z.string(), code: z.string(), message: z.string() }),
      sentence: 'The log, without secrets; empty for a call that has none.',
    },
    handle: (context, input) => {
      const ended = findEnded(callReader(context), input.id);
      const { callId, tool, code, message } = ended;
      return { callId, tool, code, message, ...logOf(context.gateway.store, callId) };
    },
  }),
  operation({
    ...facts,
    name: 'cancelCall',
    sentence: 'Ends a running call. It is recorded and settled; one that has ended stays as it is.',
    scope: 'call',
    http: { method: 'POST', path: '/v1/calls/{id}/cancel' },
    input: z.strictObject({ id }),
    output: {
      schema: z.object({ callId: callIdText, cancelled: z.boolean() }),
      sentence: 'Whether there was anything to cancel.',
    },
    handle: (context, input) => cancelCall(callReader(context), input.id),
  }),
  operation({
    ...facts,
    name: 'getRun',
    sentence: 'Lists the calls of a run, the newest first, as far as the caller may see them.',
    http: { method: 'GET', path: '/v1/runs/{id}' },
    input: pageInput(RUN_PAGE).extend({
      id: someId.describe('The label or the session of the calls.'),
      cursor,
    }),
    output: {
      schema: z.object({ run: z.string(), calls: z.array(listedCall), cursor: nextCursor }),
      sentence: 'A page of the calls of the run.',
    },
    handle: (context, { id: run, ...page }) => {
      const found = listCalls(callReader(context), { ...page, run });
      if (found.calls.length === 0 && page.cursor === undefined)
        throw new CodedError('run/unknown', `Cannot find run "${run}": it has no calls that you may see`);
      return { run, calls: found.calls.map(listedDocument), cursor: found.cursor };
    },
  }),
];

type CallInput = z.output<typeof callInput>;

/**
 * Makes a call and gives its ending, at once or event by event. A caller that disconnects cancels its call, unless the
 * call has an idempotency key: then it keeps running, and a repeated request gets its ending.
 */
async function startCall(context: OperationContext<OpenedGateway>, input: CallInput) {
  const { gateway } = context;
  const made = callOf(context, input);
  const signal = made.idempotencyKey === undefined ? context.signal : new AbortController().signal;
  if (input.asEvents === true) return new EventStream(streamCall(gateway, made, signal));
  return okOrThrow(callerDocument(gateway, made, await invoke(gateway, made, signal)));
}

function callOf({ gateway, caller, door }: OperationContext<OpenedGateway>, input: CallInput): ToolCall {
  const { tool, run = null, timeoutMs = null, idempotencyKey, trace } = input;
  return doorCall(gateway, caller, {
    tool,
    rawInput: textOf(input.input),
    run,
    timeoutMs,
    door,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    // A malformed trace is left out, as its specification wants; it is not a reason to refuse a call.
    ...(trace !== undefined && TRACE.test(trace) ? { trace } : {}),
  });
}

/** The input as text again: the line reads it once more, strictly, as from every door. */
function textOf(input: unknown): string {
  try {
    return JSON.stringify(input === undefined ? {} : input);
  } catch (error) {
    // Boundary: JSON that is nested too deeply to be serialized.
    if (!(error instanceof RangeError)) throw error;
    throw new CodedError('registry/invalid-input', 'Cannot read the input: it is nested too deeply');
  }
}

/** The document when the call succeeded; else a problem with the same members. */
function okOrThrow(document: CallerDocument): CallerDocument {
  const { status, code, message, remedy, truncated = false, ...rest } = document;
  if (status === 'ok' || code === 'ok') return document;
  const more = { ...rest, truncated } as unknown as Readonly<Record<string, Json>>;
  throw new OperationProblem(code, message, { more, ...(remedy === null ? {} : { remedy }) });
}
