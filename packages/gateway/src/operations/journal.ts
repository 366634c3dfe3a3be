import * as z from 'zod';
import { CodedError } from '../core/coded-error.ts';
import type { RecordRow } from '../journal/head.ts';
import { proveRecord, recordAt, search, type Wanted } from '../journal/search.ts';
import { type Reading, recordTenantsOf, requireHomeReader } from './access.ts';
import { exportChunks, followRecords, startAfter } from './journal-streams.ts';
import { ByteStream, EventStream, type Operation, operation, READS } from './operation.ts';
import { endingIn, hashedRecordOf, recordOf } from './record-document.ts';
import {
  anyJson,
  callIdText,
  envelope,
  isoTimeText,
  pageInput,
  pageOf,
  principalText,
  sha256,
  someId,
  toolName,
  withoutGaps,
} from './schema-parts.ts';

/* The journal, of which a caller reads the records of its tenant. The chain as a whole has those of every tenant. */

const PAGE = 20;
const SEQ = /^[1-9][0-9]{0,15}$/;

const record = z
  .object({
    at: isoTimeText,
    body: z.record(z.string(), anyJson),
    call: z.string().nullable(),
    kind: z.string(),
    prev: sha256.describe('The hash of the record before.'),
    principal: z.string().nullable(),
    seq: z.int().min(1),
    tenant: z.string().nullable(),
    tool: z.string().nullable(),
    v: z.literal(1),
  })
  .meta({ id: 'JournalRecord' });

const checkpoint = envelope.meta({ id: 'Checkpoint' });
const proof = z
  .object({
    checkpoint: envelope,
    format: z.string(),
    path: z.array(sha256),
    record: z.string().describe('The line of the record.'),
  })
  .meta({ id: 'JournalProof' });

const searchInput = pageInput(PAGE).extend({
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
const recordInput = z.strictObject({ seq: someId.describe('The number of a record, or the id of a call.') });
/** More records than a call has. */
const MOST_OF_CALL = 100;

const facts = { ...READS, noun: 'journal', opens: 'records' } as const;

export const operations: readonly Operation[] = [
  operation({
    ...facts,
    name: 'searchJournal',
    sentence: 'Searches the records of the tenant.',
    http: { method: 'GET', path: '/v1/journal' },
    input: searchInput,
    output: pageOf('records', record),
    handle: (context, { limit, cursor, order, from, to, ...terms }) => {
      const wanted = withoutGaps<Wanted>({
        ...terms,
        tenants: recordTenantsOf(context),
        fromMs: from === undefined ? undefined : Date.parse(from),
        toMs: to === undefined ? undefined : Date.parse(to),
      });
      const page = search(context.gateway.segments, wanted, {
        newestFirst: order === 'newest',
        limit,
        cursor: cursor === undefined ? null : Number(cursor),
      });
      const next = page.cursor === null ? null : String(page.cursor);
      return { records: page.records.map(recordOf), cursor: next };
    },
  }),
  operation({
    ...facts,
    name: 'followJournal',
    sentence:
      'Follows the records of the tenant as they are written: events `record`, each with its number as id.',
    http: {
      method: 'GET',
      path: '/v1/journal/live',
      headers: {
        'last-event-id': {
          member: 'after',
          sentence: 'The number of the last record that came; left out: only what is new.',
        },
      },
    },
    input: z.strictObject({ after: z.string().optional() }),
    output: {
      type: 'text/event-stream',
      sentence: 'One event for each record, until the client goes.',
      events: z.object({ event: z.literal('record'), data: record }).meta({ id: 'RecordEvent' }),
    },
    handle: (context, { after }) => new EventStream(followRecords(context, startAfter(context, after))),
  }),
  operation({
    ...facts,
    name: 'exportJournal',
    sentence:
      'Exports the journal of the whole gateway, of all tenants, as lines that anyone can verify offline.',
    // Boundary: the chain has the records of every tenant, so it is for the operators of the gateway.
    access: requireHomeReader,
    http: { method: 'GET', path: '/v1/journal/export' },
    input: z.strictObject({
      from: z.string().regex(SEQ).default('1').describe('The number of the first record.'),
    }),
    output: { type: 'application/x-ndjson', sentence: 'One JSON document a line.' },
    handle: (context, { from }) => new ByteStream(exportChunks(context, Number(from)), 'journal.ndjson'),
  }),
  operation({
    ...facts,
    name: 'getCheckpoint',
    sentence: 'Gives a checkpoint of the journal, signed just now; keep it where the gateway cannot write.',
    http: { method: 'GET', path: '/v1/journal/checkpoint' },
    input: z.strictObject({}),
    output: { schema: checkpoint, sentence: 'The checkpoint, to the byte as verifiers take it.' },
    handle: async ({ gateway: { store, journal } }) => {
      const signed = await store.commit((tx) => journal.checkpoint(tx));
      return ByteStream.of(signed.envelope);
    },
  }),
  operation({
    ...facts,
    name: 'getRecord',
    sentence: 'Shows one record by its number, or all records of a call, with their hashes.',
    http: { method: 'GET', path: '/v1/journal/{seq}' },
    input: recordInput,
    output: {
      schema: z.object({ records: z.array(record.extend({ hash: sha256 })) }),
      sentence: 'The record, or those of the call, the oldest first.',
    },
    handle: (context, { seq }) => ({ records: findRecords(context, seq).map(hashedRecordOf) }),
  }),
  operation({
    ...facts,
    name: 'proveRecord',
    sentence:
      'Gives a proof that a record, or the ending of a call, is in the journal, under a checkpoint signed just now.',
    http: { method: 'GET', path: '/v1/journal/{seq}/proof' },
    input: recordInput,
    output: { schema: proof, sentence: 'The proof, to the byte as verifiers take it.' },
    handle: (context, input) => {
      const found = findRecords(context, input.seq);
      const { seq } = SEQ.test(input.seq) ? (found[0] as RecordRow) : endingIn(found, input.seq);
      return ByteStream.of(proveRecord(context.gateway, seq));
    },
  }),
];

/** The record of that number or all records of that call, of which there is at least one. */
function findRecords(reading: Reading, wanted: string): readonly RecordRow[] {
  const { segments } = reading.gateway;
  const seq = SEQ.test(wanted) ? Number(wanted) : null;
  const page = { newestFirst: false, limit: MOST_OF_CALL, cursor: null };
  const rows =
    seq === null
      ? search(segments, { call: wanted }, page).records
      : [Number.isSafeInteger(seq) ? recordAt(segments, seq) : undefined];
  const tenants = recordTenantsOf(reading);
  // Boundary: a record of another tenant does not exist for this caller.
  const seen = rows.flatMap((row) =>
    row !== undefined && (tenants === undefined || tenants.includes(row.tenant)) ? [row] : [],
  );
  if (seen.length > 0) return seen;
  throw new CodedError(
    'journal/unknown-record',
    `Cannot find "${wanted}": no record has that number or call id`,
  );
}
