import type { ToolCall } from '../core/call.ts';
import type { Json } from '../core/json.ts';
import type { Ended } from '../invoke/finish.ts';
import type { Gateway } from '../invoke/gateway.ts';
import { invoke } from '../invoke/invoke.ts';
import { keyState } from '../results/keys.ts';
import type { CallContext } from '../tiers/tier.ts';
import { callerDocument } from './call-document.ts';
import type { ServerEvent } from './operation.ts';
import { makeOutputEvents } from './output-events.ts';

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
  readonly output: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => readonly ServerEvent[];
  readonly ended: (ended: Ended) => readonly ServerEvent[];
};

/** Runs a call, and gives the events that are made of it. */
export async function* followCall(
  gateway: Gateway,
  call: ToolCall,
  signal: AbortSignal,
  make: CallEvents,
): AsyncGenerator<ServerEvent> {
  const queue = makeQueue();
  queue.push([{ event: 'started', data: make.started }]);
  const onOutput: CallContext['onOutput'] = (stream, chunk) => queue.push(make.output(stream, chunk));
  const running = invoke(gateway, call, signal, { onOutput })
    .then((ended) => queue.push(make.ended(ended)))
    .finally(queue.end);
  // The reader gets it below; without a reader, no one is left to get it.
  running.catch(() => undefined);
  try {
    yield* queue.events();
    await running;
  } finally {
    queue.end();
    // Boundary: a call that continues without its reader still counts as running.
    await running.catch(() => undefined);
  }
}

/** Events that one side adds at any time, and the other reads one after the other. */
function makeQueue() {
  const waiting: ServerEvent[] = [];
  let isOver = false;
  let wake: () => void = () => undefined;
  return {
    push: (events: readonly ServerEvent[]) => {
      if (!isOver) waiting.push(...events);
      wake();
    },
    end: () => {
      isOver = true;
      wake();
    },
    events: async function* () {
      for (;;) {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
        if (isOver) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** The id by which the call is known: that of an earlier one, when this is a repeated request. */
function startedId({ store, clock, keep }: Gateway, call: ToolCall): string {
  const { idempotencyKey: key } = call;
  if (key === undefined) return call.id;
  const known = keyState(store, call, key, clock.nowMs() - keep.keepForMs);
  return known.kind === 'same' ? known.callId : call.id;
}
