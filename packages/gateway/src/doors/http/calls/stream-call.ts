import type { ToolCall } from '../../../core/call.ts';
import type { Json } from '../../../core/json.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { keyState } from '../../../results/keys.ts';
import type { CallContext } from '../../../tiers/tier.ts';
import type { ServerEvent } from '../route.ts';
import { makePrinted } from './printed.ts';
import { toldCall } from './told-call.ts';

/**
 * Runs a call and tells of it as it goes: `started`, what it prints, `ended`, in this order. What waits to be sent is
 * bounded by the output limit of the call.
 */
export async function* streamCall(
  gateway: Gateway,
  call: ToolCall,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const line = makeLine();
  const printed = makePrinted();
  line.say([{ event: 'started', data: { callId: startedId(gateway, call) } }]);
  const onOutput: CallContext['onOutput'] = (stream, chunk) => line.say(printed.piece(stream, chunk));
  const running = invoke(gateway, call, signal, { onOutput })
    .then((ended) => {
      const document = toldCall(gateway, call, ended) as unknown as Json;
      line.say([...printed.rest(), { event: 'ended', data: document }]);
    })
    .finally(line.end);
  // Whoever listens gets it below; where nobody does, there is nobody to tell.
  running.catch(() => undefined);
  try {
    yield* line.events();
    await running;
  } finally {
    line.end();
    // Boundary: whoever stops listening to a call that goes on without them still has it running, and it counts.
    await running.catch(() => undefined);
  }
}

/** Events that are said by one side whenever it likes, and heard by the other one after the other. */
function makeLine() {
  const queue: ServerEvent[] = [];
  let isOver = false;
  let wake: () => void = () => undefined;
  return {
    say: (events: readonly ServerEvent[]) => {
      if (!isOver) queue.push(...events);
      wake();
    },
    end: () => {
      isOver = true;
      wake();
    },
    events: async function* () {
      for (;;) {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) yield next;
        if (isOver) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** The id by which the call is known: that of an earlier one, where this only asks for its ending again. */
function startedId({ store, clock, keep }: Gateway, call: ToolCall): string {
  const { idempotencyKey: key } = call;
  if (key === undefined) return call.id;
  const standing = keyState(store, call, key, clock.nowMs() - keep.keepForMs);
  return standing.kind === 'same' ? standing.callId : call.id;
}
