import { z } from 'zod';
import type { Json } from '../../core/json.ts';
import { doorCall, invoke } from '../../invoke/invoke.ts';
import { callDocument } from '../documents/call.ts';
import { type Asked, type Route, route, type ServerEvent } from './route.ts';

/*
 * What the commands of the owner ask of a running daemon, by the local socket alone: the very calls that they would make
 * themselves. The input goes in as it was given, also where it is no JSON, so that it is judged and recorded as ever.
 */

/** More than any input that a command reads. */
const MAX_INPUT_BYTES = 17 * 1024 * 1024;

const query = z.object({
  tool: z.string().max(256),
  run: z.string().max(256).optional(),
  timeoutMs: z.coerce.number().int().positive().optional(),
});
const params = z.object({ id: z.string().max(64) });

type AskedCall = Asked<unknown, z.output<typeof query>, unknown>;

export const LOCAL_ROUTES: readonly Route[] = [
  route({
    ...{ method: 'POST', path: '/local/calls', name: 'localCall', tag: 'local', scope: 'call', query },
    sentence: 'Makes a call for a command: `started`, `output` and `ended`, as it goes.',
    body: { type: 'application/octet-stream', maxBytes: MAX_INPUT_BYTES },
    replies: { 200: { type: 'text/event-stream', sentence: 'The events.' } },
    handle: async (asked) => ({ kind: 'events', events: follow(asked) }),
  }),
  route({
    ...{ method: 'POST', path: '/local/calls/{id}/cancel', name: 'localCancel', tag: 'local', params },
    ...{ scope: 'call' as const, sentence: 'Cancels a call that a command made.' },
    replies: { 200: { type: 'application/json', sentence: 'Whether it was running.' } },
    handle: async ({ gateway, params: { id } }) => {
      return { kind: 'json', status: 200, body: { cancelled: gateway.running.cancel(id) } };
    },
  }),
];

/** Tells of a call as it goes. What waits to be sent is bounded by the output limit of the call. */
async function* follow(asked: AskedCall): AsyncGenerator<ServerEvent> {
  const { gateway, caller, signal } = asked;
  const call = doorCall(gateway, caller, { ...askedOf(asked), door: 'cli' });
  const hasPolicyProblems = gateway.policy.problems.length > 0;
  yield { event: 'started', data: { callId: call.id, hasPolicyProblems } };
  const line = { waiting: [] as ServerEvent[], isOver: false, wake: (): void => undefined };
  const say = (event: string, data: Json) => {
    line.waiting.push({ event, data });
    line.isOver ||= event === 'ended';
    line.wake();
  };
  const onOutput = (stream: string, chunk: Uint8Array) =>
    say('output', { stream, base64: Buffer.from(chunk).toString('base64') });
  void invoke(gateway, call, signal, { onOutput }).then((ended) =>
    say('ended', callDocument(ended) as unknown as Json),
  );
  while (!line.isOver || line.waiting.length > 0) {
    yield* line.waiting.splice(0);
    if (line.isOver || line.waiting.length > 0) continue;
    await new Promise<void>((resolve) => {
      line.wake = resolve;
    });
  }
}

function askedOf({ query: { tool, run, timeoutMs }, body }: AskedCall) {
  const rawInput = body as Uint8Array;
  return { tool, rawInput, run: run ?? null, timeoutMs: timeoutMs ?? null };
}
