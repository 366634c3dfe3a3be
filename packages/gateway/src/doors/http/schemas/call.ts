import { z } from 'zod';
import {
  anyJson,
  callIdText,
  envelope,
  isoTimeText,
  nameText,
  principalText,
  toolName,
  usage,
} from './parts.ts';

/** The request that a call waits for, where a person has to approve it. */
export const askedApproval = z.object({
  id: z.string(),
  expiresAt: isoTimeText,
  approveWith: z.string().describe('What a user runs to approve it.'),
});

/** How a call ended: the document of `palisade call --json`. */
export const callDocument = z.object({
  callId: callIdText,
  status: z.enum(['ok', 'failed', 'refused']),
  code: z.string().describe('One of the table of codes; `ok` where it ended well.'),
  message: z.string(),
  remedy: z.string().nullable(),
  output: anyJson,
  usage,
  receipt: envelope.nullable().describe('Null where nothing could be recorded.'),
});

/** The same with what only some endings have. */
export const toldCall = callDocument
  .extend({
    truncated: z.literal(true).optional().describe('The output was cut off.'),
    approval: askedApproval.optional(),
    replayed: z
      .literal(true)
      .optional()
      .describe('It had ended before, and is told again for its idempotency key.'),
  })
  .meta({ id: 'Call' });

const facts = {
  callId: callIdText,
  principal: principalText,
  tool: z.string(),
  run: z.string().nullable(),
  door: z.string(),
};

export const runningCall = z
  .object({ state: z.literal('running'), ...facts, startedAt: isoTimeText })
  .meta({ id: 'RunningCall' });

/** A call that has ended, without what may be large. */
export const endedCall = z
  .object({
    state: z.literal('ended'),
    ...facts,
    endedAt: isoTimeText,
    ...callDocument.pick({ status: true, code: true, message: true, remedy: true, usage: true }).shape,
    truncated: z.boolean(),
  })
  .meta({ id: 'EndedCall' });

export const listedCall = z.discriminatedUnion('state', [runningCall, endedCall]);

/** All that is kept of a call. */
export const shownCall = z.discriminatedUnion('state', [
  runningCall,
  endedCall.extend({
    output: anyJson,
    isOutputKept: z.boolean().describe('False: there was more output than is kept, and `output` is null.'),
    receipt: envelope.nullable(),
  }),
]);

const LONGEST_TIMEOUT_MS = 86_400_000;

/** What a call is made of. Who makes it is in the credential, and nowhere else. */
export const callBody = z.strictObject({
  tool: toolName,
  input: anyJson.optional().describe('What the tool is given; left out: {}.'),
  run: nameText.optional().describe('The run that the call is part of.'),
  timeoutMs: z.int().min(1).max(LONGEST_TIMEOUT_MS).optional().describe('The wall-clock limit asked for.'),
});
