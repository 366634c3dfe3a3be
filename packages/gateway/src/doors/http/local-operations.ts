import * as z from 'zod';
import type { Json } from '../../core/json.ts';
import { doorCall } from '../../invoke/invoke.ts';
import { callDocument } from '../../operations/call-document.ts';
import { EventStream, type Operation, operation } from '../../operations/operation.ts';
import { wholeNumber } from '../../operations/schema-parts.ts';
import { followCall } from '../../operations/stream-call.ts';

/*
 * What the owner's commands request from a running daemon, by the local socket alone: the same calls that they would
 * make themselves. The input is passed as it is, even if it is not JSON, so that it is judged and recorded as usual.
 */

/** More than any input that a command reads. */
const MAX_INPUT_BYTES = 17 * 1024 * 1024;

export const LOCAL_OPERATIONS: readonly Operation[] = [
  operation({
    name: 'localCall',
    noun: 'local',
    sentence: 'Makes a call for a command: `started`, `output` and `ended`, as it goes.',
    scope: 'call',
    action: 'call',
    opens: 'gateway',
    http: {
      method: 'POST',
      path: '/local/calls',
      bytes: { member: 'rawInput', maxBytes: MAX_INPUT_BYTES },
    },
    input: z.strictObject({
      tool: z.string().max(256),
      run: z.string().max(256).optional(),
      timeoutMs: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
      rawInput: z.instanceof(Uint8Array),
    }),
    output: { type: 'text/event-stream', sentence: 'The events.' },
    handle: ({ gateway, caller, signal }, { tool, rawInput, run = null, timeoutMs = null }) => {
      const call = doorCall(gateway, caller, { tool, rawInput, run, timeoutMs, door: 'cli' });
      const hasPolicyProblems = gateway.policy.problems.length > 0;
      return new EventStream(
        followCall(gateway, call, signal, {
          started: { callId: call.id, hasPolicyProblems },
          output: (stream, chunk) => [
            { event: 'output', data: { stream, base64: Buffer.from(chunk).toString('base64') } },
          ],
          ended: (ended) => [{ event: 'ended', data: callDocument(ended) as unknown as Json }],
        }),
      );
    },
  }),
  operation({
    name: 'localCancel',
    noun: 'local',
    sentence: 'Cancels a call that a command made.',
    scope: 'call',
    opens: 'gateway',
    http: { method: 'POST', path: '/local/calls/{id}/cancel' },
    input: z.strictObject({ id: z.string().max(64) }),
    output: { sentence: 'Whether it was running.' },
    handle: ({ gateway }, { id }) => ({ cancelled: gateway.running.cancel(id) }),
  }),
];
