import type { z } from 'zod';
import type { ToolCall } from '../../../core/call.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { doorCall, invoke } from '../../../invoke/invoke.ts';
import type { Asked, Reply } from '../route.ts';
import type { callBody } from '../schemas/call.ts';
import { streamCall } from './stream-call.ts';
import { replyOf, toldCall } from './told-call.ts';

type AskedToCall = Asked<unknown, unknown, z.output<typeof callBody>>;

const EVENTS = 'text/event-stream';
const TRACE = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * Makes the call that a request asks for and tells how it ended, at once or event by event. A client that goes away ends
 * its call, unless the call has an idempotency key: then it goes on, and whoever repeats it is told how it ended.
 */
export async function startCall(asked: AskedToCall): Promise<Reply> {
  const { gateway, headers } = asked;
  const call = callOf(asked);
  const signal = call.idempotencyKey === undefined ? asked.signal : new AbortController().signal;
  if (accepts(headers.accept)) return { kind: 'events', events: streamCall(gateway, call, signal) };
  return replyOf(toldCall(gateway, call, await invoke(gateway, call, signal)));
}

function callOf({ gateway, caller, headers, body }: AskedToCall): ToolCall {
  const { tool, input, run, timeoutMs } = body;
  const { 'idempotency-key': idempotencyKey, traceparent: trace } = headers;
  return doorCall(gateway, caller, {
    ...{ tool, rawInput: textOf(input), run: run ?? null, timeoutMs: timeoutMs ?? null, door: 'http' },
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    // What is no trace is left out, as its specification wants; it is no reason to refuse a call.
    ...(trace !== undefined && TRACE.test(trace) ? { trace } : {}),
  });
}

/** The input as text again: the line reads it once more, strictly, as from every door. */
function textOf(input: unknown): string {
  try {
    return JSON.stringify(input === undefined ? {} : input);
  } catch (error) {
    // Boundary: JSON that is nested so deeply that it cannot be written again.
    if (!(error instanceof RangeError)) throw error;
    throw new CodedError('registry/invalid-input', 'Cannot read the input: it is nested too deeply');
  }
}

/** Whether events are asked for by their name; a star is content with a document. */
function accepts(accept = ''): boolean {
  return accept.split(',').some((part) => part.split(';', 1)[0]?.trim().toLowerCase() === EVENTS);
}
