import { z } from 'zod';
import { anyJson, callIdText, isoTimeText, nextCursor, pageQuery, principalText, toolName } from './parts.ts';

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const SEQ = /^[1-9][0-9]{0,15}$/;

/** One line of the journal. */
export const journalRecord = z
  .object({
    at: isoTimeText,
    body: z.record(z.string(), anyJson),
    call: z.string().nullable(),
    kind: z.string(),
    prev: hash.describe('The hash of the record before.'),
    principal: z.string().nullable(),
    seq: z.int().min(1),
    tenant: z.string().nullable(),
    tool: z.string().nullable(),
    v: z.literal(1),
  })
  .meta({ id: 'JournalRecord' });

export const seqParams = z.object({ seq: z.string().regex(SEQ).describe('The number of a record.') });
export const journalQuery = pageQuery(20).extend({
  kind: z
    .string()
    .max(64)
    .regex(/^[a-z]+(?:-[a-z]+)*$/)
    .optional()
    .describe('Only records of this kind.'),
  principal: principalText.optional(),
  tool: toolName.optional(),
  call: callIdText.optional(),
  from: isoTimeText.optional().describe('Not before this time, in UTC.'),
  to: isoTimeText.optional().describe('Not after this time, in UTC.'),
  order: z.enum(['newest', 'oldest']).default('newest').describe('Which come first.'),
  cursor: z
    .string()
    .regex(SEQ)
    .optional()
    .describe('The cursor of the page before; left out: the first page.'),
});
export const journalPage = z.object({ records: z.array(journalRecord), cursor: nextCursor });
export const hashedRecords = z.object({ records: z.array(journalRecord.extend({ hash })) });
export const exportQuery = z.object({
  from: z.string().regex(SEQ).default('1').describe('The number of the first record.'),
});

const envelope = z.object({
  payload: z.string().describe('In base64.'),
  payloadType: z.string(),
  signatures: z.array(z.object({ keyid: z.string(), sig: z.string() })),
});
/** A checkpoint, as verifiers take it. */
export const checkpoint = envelope.meta({ id: 'Checkpoint' });
/** A proof, as verifiers take it. */
export const proof = z
  .object({
    checkpoint: envelope,
    format: z.string(),
    path: z.array(hash),
    record: z.string().describe('The line of the record.'),
  })
  .meta({ id: 'JournalProof' });
