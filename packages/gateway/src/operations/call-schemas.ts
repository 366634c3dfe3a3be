import * as z from 'zod';
import { anyJson, callIdText, envelope, isoTimeText, usage } from './schema-parts.ts';

/* How a call ended, as documents, events and problems show it. */

export const callLog = z
  .object({
    lines: z.array(z.object({ level: z.string(), text: z.string() })).describe('What the guest logged.'),
    isCut: z.boolean().describe('There were more lines than are kept.'),
    denied: z
      .array(
        z.object({
          function: z.string(),
          argument: z.string().nullable(),
          why: z.string(),
          sentence: z.string(),
          remedy: z.string(),
          times: z.int(),
        }),
      )
      .describe('The host calls that it was denied.'),
    deniedMore: z.int().describe('Denials beside those in the list.'),
    trap: z
      .array(z.object({ function: z.int(), name: z.string().nullable(), source: z.string().optional() }))
      .describe('The functions that were running when it trapped, the innermost first.'),
  })
  .meta({ id: 'CallLog' });

export const ending = z.object({
  callId: callIdText,
  status: z.enum(['ok', 'failed', 'refused']),
  code: z.string().describe('One of the table of codes; `ok` for a call that succeeded.'),
  message: z.string(),
  remedy: z.string().nullable(),
  output: anyJson,
  usage,
  receipt: envelope.nullable().describe('Null where nothing could be recorded.'),
});

export const call = ending
  .extend({
    truncated: z.literal(true).optional().describe('The output was cut off.'),
    approval: z
      .object({
        id: z.string(),
        expiresAt: isoTimeText,
        approveWith: z.string().describe('What a user runs to approve it.'),
      })
      .optional(),
    log: callLog
      .optional()
      .describe('What the guest logged and was denied; left out where there is nothing.'),
    replayed: z
      .literal(true)
      .optional()
      .describe('It had ended before, and is given again for its idempotency key.'),
  })
  .meta({ id: 'Call' });

/** What a problem has that a call ended with; one of the door itself, before there was a call, has none of it. */
export const callProblem = call
  .pick({ callId: true, output: true, usage: true, receipt: true, approval: true, log: true, replayed: true })
  .extend({ truncated: z.boolean().describe('The output was cut off.') })
  .partial();

const outputChunk = z.object({
  stream: z.enum(['stdout', 'stderr']),
  text: z.string().optional().describe('What was printed, where it is UTF-8.'),
  base64: z.string().optional().describe('Its bytes, where they are not.'),
});
export const callEvent = z
  .discriminatedUnion('event', [
    z.object({ event: z.literal('started'), data: z.object({ callId: callIdText }) }),
    z.object({ event: z.literal('output'), data: outputChunk }),
    z.object({ event: z.literal('ended'), data: call }),
  ])
  .meta({ id: 'CallEvent' });
