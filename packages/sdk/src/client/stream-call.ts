import { fromBase64, toHex, toUtf8 } from '../bytes.ts';
import { errorOfCall, PalisadeError } from './palisade-error.ts';
import { makeTurns } from './repeat.ts';
import { invalidReply, type Reply, readJson } from './reply.ts';
import { EVENTS_TYPE, type RequestOptions, type Sender } from './send.ts';
import { readEvents } from './server-events.ts';
import type { CallDocument, CallRequest, OutputEvent, StartedEvent } from './wire.ts';

/*
 * One call, followed until it ends. The key of a call lets every repeat find the same call again: it is never run
 * twice, however often the connection breaks. The events of a call come from the gateway, in its order.
 */

export type CallOptions = RequestOptions & {
  /** Generated for each call unless passed. With null the call is never repeated, and ends when its connection does. */
  readonly idempotencyKey?: string | null | undefined;
  /** A W3C trace context that the call belongs to. */
  readonly traceparent?: string | undefined;
};

/** What happens to a call while it is followed. Text that is not UTF-8 is null, and its bytes are there. */
export type CallEvent =
  | { readonly kind: 'started'; readonly callId: string }
  | {
      readonly kind: 'output';
      readonly stream: 'stdout' | 'stderr';
      readonly bytes: Uint8Array;
      readonly text: string | null;
    }
  | { readonly kind: 'ended'; readonly call: CallDocument };

type CallStream = AsyncGenerator<CallEvent, CallDocument, undefined>;

/** What is known of the call so far. */
type Sight = { callId: string | null; isResumed: boolean; isOver: boolean };

const KEY_BYTES = 16;
const CANCEL_MS = 5_000;

/**
 * Makes a call and yields what happens until it has ended; returns its document on success and throws a PalisadeError
 * otherwise. A signal that fires, or leaving the loop, cancels the call.
 */
export async function* streamCall(send: Sender, call: CallRequest, options: CallOptions = {}): CallStream {
  const { signal = null } = options;
  const key =
    options.idempotencyKey === undefined ? toHex(send.connection.random(KEY_BYTES)) : options.idempotencyKey;
  const turns = makeTurns(send.connection, signal);
  const sight: Sight = { callId: null, isResumed: false, isOver: false };
  try {
    for (;;) {
      try {
        return yield* followOnce(send, call, { ...options, idempotencyKey: key }, sight);
      } catch (error) {
        if (key === null || sight.isOver) throw error;
        await turns.next(error);
      }
      sight.isResumed = sight.callId !== null;
    }
  } catch (error) {
    // A lost call can be found again with its key; only the caller can cancel it.
    if (!signal?.aborted) sight.isOver = true;
    throw error;
  } finally {
    if (!sight.isOver && sight.callId !== null) await cancelQuietly(send, sight.callId);
  }
}

/** Makes a call and returns its document; throws a PalisadeError on failure. */
export async function runCall(send: Sender, call: CallRequest, options?: CallOptions): Promise<CallDocument> {
  const events = streamCall(send, call, options);
  for (;;) {
    const { done, value } = await events.next();
    if (done) return value;
  }
}

async function* followOnce(
  send: Sender,
  call: CallRequest,
  options: CallOptions & { readonly idempotencyKey: string | null },
  sight: Sight,
): CallStream {
  const { idempotencyKey, traceparent } = options;
  const headers = {
    ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  const reply = await send.open('createCall', { body: call, headers, options }, EVENTS_TYPE);
  try {
    for await (const event of eventsOfCall(reply)) {
      if (event.kind === 'ended') {
        // Only the repeat ended: the call itself keeps running, and is requested again.
        if (event.call.code === 'door/call-open') throw errorOfCall(event.call);
        sight.isOver = true;
        yield event;
        if (event.call.status === 'ok') return event.call;
        throw errorOfCall(event.call);
      }
      if (event.kind === 'started' && event.callId !== sight.callId) {
        sight.callId = event.callId;
        sight.isResumed = false;
      }
      // What is repeated after a break was yielded before; the document contains all of it.
      if (!sight.isResumed) yield event;
    }
  } finally {
    reply.close();
  }
  const detail = 'Cannot follow the call: the stream ended before the call did';
  throw new PalisadeError({ code: 'client/unreachable', detail, callId: sight.callId });
}

async function* eventsOfCall(reply: Reply): AsyncGenerator<CallEvent, void, undefined> {
  const stream =
    reply.type === EVENTS_TYPE ? readEvents(reply) : [{ event: 'ended', data: await readJson(reply) }];
  for await (const { event, data } of stream) {
    if (typeof data !== 'object' || data === null) throw invalidReply(`"${event}" has no data`);
    const known = callEventOf(event, data);
    if (known !== null) yield known;
  }
}

/** Null for an event that a newer gateway may send. */
function callEventOf(event: string, data: object): CallEvent | null {
  if (event === 'started') return { kind: 'started', callId: String((data as StartedEvent).callId) };
  if (event === 'ended') return { kind: 'ended', call: data as CallDocument };
  if (event !== 'output') return null;
  const { stream, text = null, base64 = '' } = data as OutputEvent;
  const bytes = text === null ? fromBase64(base64) : toUtf8(text);
  if (bytes === null) throw invalidReply('the output in it is no base64');
  return { kind: 'output', stream, bytes, text };
}

/** The caller has abandoned the call; errors while cancelling are ignored. */
async function cancelQuietly(send: Sender, id: string): Promise<void> {
  const args = { params: { id }, options: { timeoutMs: CANCEL_MS } };
  await send
    .open('cancelCall', args)
    .then((reply) => reply.close())
    .catch(() => undefined);
}
