import { isUtf8 } from 'node:buffer';
import { EventEmitter, on } from 'node:events';
import type { ToolCall } from '../core/call.ts';
import type { Json } from '../core/json.ts';
import type { Ended } from '../invoke/finish.ts';
import type { Gateway } from '../invoke/gateway.ts';
import { invoke } from '../invoke/invoke.ts';
import { keyState } from '../results/keys.ts';
import type { CallContext } from '../tiers/tier.ts';
import { callerDocument } from './caller-document.ts';
import type { ServerEvent } from './operation.ts';

/* A call as events, in this order: `started`, what it prints, `ended`. The queue is bounded by its output limit. */

/** Runs a call, as its caller may follow it. */
export function streamCall(
  gateway: Gateway,
  call: ToolCall,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const output = makeOutputEvents();
  return followCall(gateway, call, signal, {
    started: { callId: startedId(gateway, call) },
    output: output.next,
    ended: (ended) => [
      ...output.rest(),
      { event: 'ended', data: callerDocument(gateway, call, ended) as unknown as Json },
    ],
  });
}

type CallEvents = {
  readonly started: Json;
  readonly output: OutputEvents['next'];
  readonly ended: (ended: Ended) => readonly ServerEvent[];
};

/** Runs a call, and gives the events that are made of it. */
export async function* followCall(
  gateway: Gateway,
  call: ToolCall,
  signal: AbortSignal,
  make: CallEvents,
): AsyncGenerator<ServerEvent> {
  const emitter = new EventEmitter();
  // It keeps what is emitted until it is read, or until its reader has left.
  const queue: AsyncIterable<ServerEvent[]> = on(emitter, 'events', { close: ['end'] });
  const emit = (events: readonly ServerEvent[]) => void emitter.emit('events', ...events);
  emit([{ event: 'started', data: make.started }]);
  const onOutput: CallContext['onOutput'] = (stream, chunk) => emit(make.output(stream, chunk));
  const running = invoke(gateway, call, signal, { onOutput })
    .then((ended) => emit(make.ended(ended)))
    .finally(() => emitter.emit('end'));
  // The reader gets it below; without a reader, no one is left to get it.
  running.catch(() => undefined);
  try {
    for await (const events of queue) yield* events;
    await running;
  } finally {
    // Boundary: a call that continues without its reader still counts as running.
    await running.catch(() => undefined);
  }
}

/** The id by which the call is known: that of an earlier one, when this is a repeated request. */
function startedId({ store, clock, keep }: Gateway, call: ToolCall): string {
  const { idempotencyKey: key } = call;
  if (key === undefined) return call.id;
  const known = keyState(store, call, key, clock.nowMs() - keep.keepForMs);
  return known.kind === 'same' ? known.callId : call.id;
}

/*
 * What a run prints, as events. Chunks may split characters: the beginning of a character at the end of a chunk waits
 * for the rest of it. What is not UTF-8 is sent in base64, so that no byte is lost. It is one JSON text in the end, in
 * which line feeds, carriage returns and NUL are escaped.
 */

type StreamName = 'stdout' | 'stderr';

const LONGEST_CHARACTER = 4;

type OutputEvents = {
  /** The events of one chunk; none where it only begins a character. */
  readonly next: (stream: StreamName, chunk: Uint8Array) => readonly ServerEvent[];
  /** What still waits when the run has ended. */
  readonly rest: () => readonly ServerEvent[];
};

export function makeOutputEvents(): OutputEvents {
  const waiting: Record<StreamName, Uint8Array> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  return {
    next: (stream, chunk) => {
      const bytes = Buffer.concat([waiting[stream], chunk]);
      const end = bytes.length - incompleteBytes(bytes);
      waiting[stream] = bytes.subarray(end);
      return eventsOf(stream, bytes.subarray(0, end));
    },
    rest: () => (['stdout', 'stderr'] as const).flatMap((stream) => eventsOf(stream, waiting[stream])),
  };
}

function eventsOf(stream: StreamName, bytes: Uint8Array): readonly ServerEvent[] {
  if (bytes.length === 0) return [];
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const content: Json = isUtf8(buffer)
    ? { text: buffer.toString('utf8') }
    : { base64: buffer.toString('base64') };
  return [{ event: 'output', data: { stream, ...content } }];
}

/** How many bytes at the end begin a character that is not complete. */
function incompleteBytes(bytes: Uint8Array): number {
  for (let back = 1; back < LONGEST_CHARACTER && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    const isContinuation = byte >= 0x80 && byte < 0xc0;
    if (isContinuation) continue;
    return lengthFrom(byte) > back ? back : 0;
  }
  return 0;
}

/** How long a character is that begins with this byte; 1 where none does. */
function lengthFrom(byte: number): number {
  if (byte >= 0xc2 && byte < 0xe0) return 2;
  if (byte >= 0xe0 && byte < 0xf0) return 3;
  return byte >= 0xf0 && byte < 0xf5 ? 4 : 1;
}
