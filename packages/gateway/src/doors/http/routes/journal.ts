import { CodedError } from '../../../core/coded-error.ts';
import type { RecordRow } from '../../../journal/head.ts';
import { proveRecord, recordAt, search, type Wanted } from '../../../journal/search.ts';
import { hashedRecordOf, recordOf } from '../../documents/records.ts';
import { requireReader } from '../may-see.ts';
import { type Asked, type Route, route } from '../route.ts';
import {
  checkpoint,
  hashedRecords,
  journalPage,
  journalQuery,
  proof,
  seqParams,
} from '../schemas/journal.ts';
import { document, json, whole } from './answer.ts';
import { journalStreamsRoutes } from './journal-streams.ts';
import { isOfCaller, tenantsOf } from './journal-tenants.ts';

const TAG = 'journal';

const searchJournal = route({
  method: 'GET',
  path: '/v1/journal',
  name: 'searchJournal',
  tag: TAG,
  sentence: 'Searches the records of the tenant.',
  scope: 'read',
  query: journalQuery,
  replies: { 200: document(journalPage, 'A page of records.') },
  handle: async (asked) => {
    requireReader(asked);
    const { limit, cursor, order } = asked.query;
    const page = search(
      asked.gateway.segments,
      { ...wantedOf(asked.query), tenants: tenantsOf(asked) },
      {
        newestFirst: order === 'newest',
        limit,
        cursor: cursor === undefined ? null : Number(cursor),
      },
    );
    const next = page.cursor === null ? null : String(page.cursor);
    return json({ records: page.records.map(recordOf), cursor: next });
  },
});

const getCheckpoint = route({
  method: 'GET',
  path: '/v1/journal/checkpoint',
  name: 'getCheckpoint',
  tag: TAG,
  sentence: 'Gives a checkpoint of the journal, signed just now; keep it where the gateway cannot write.',
  scope: 'read',
  replies: { 200: document(checkpoint, 'The checkpoint, to the byte as verifiers take it.') },
  handle: async (asked) => {
    requireReader(asked);
    const { store, journal } = asked.gateway;
    const { envelope } = await store.commit((tx) => journal.checkpoint(tx));
    return whole('application/json', envelope);
  },
});

const getRecord = route({
  method: 'GET',
  path: '/v1/journal/{seq}',
  name: 'getRecord',
  tag: TAG,
  sentence: 'Shows one record with its hash.',
  scope: 'read',
  params: seqParams,
  replies: { 200: document(hashedRecords, 'The record.') },
  handle: async (asked) => {
    requireReader(asked);
    return json({ records: [hashedRecordOf(requireRecord(asked, asked.params.seq))] });
  },
});

const getProof = route({
  method: 'GET',
  path: '/v1/journal/{seq}/proof',
  name: 'proveRecord',
  tag: TAG,
  sentence: 'Gives a proof that a record is in the journal, under a checkpoint signed just now.',
  scope: 'read',
  params: seqParams,
  replies: { 200: document(proof, 'The proof, to the byte as verifiers take it.') },
  handle: async (asked) => {
    requireReader(asked);
    const { seq } = requireRecord(asked, asked.params.seq);
    return whole('application/json', proveRecord(asked.gateway, seq));
  },
});

/** Boundary: a record of another tenant is not there. */
function requireRecord(asked: Pick<Asked, 'gateway' | 'caller'>, raw: string): RecordRow {
  const seq = Number(raw);
  const row = Number.isSafeInteger(seq) ? recordAt(asked.gateway.segments, seq) : undefined;
  if (row !== undefined && isOfCaller(asked, row)) return row;
  throw new CodedError('journal/unknown-record', `Cannot find record ${raw}: there is none`);
}

type Query = {
  readonly [K in 'kind' | 'principal' | 'tool' | 'call' | 'from' | 'to']?: string | undefined;
};

function wantedOf({ kind, principal, tool, call, from, to }: Query): Wanted {
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(principal === undefined ? {} : { principal }),
    ...(tool === undefined ? {} : { tool }),
    ...(call === undefined ? {} : { call }),
    ...(from === undefined ? {} : { fromMs: Date.parse(from) }),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
  };
}

export const journalRoutes: readonly Route[] = [
  searchJournal,
  ...journalStreamsRoutes,
  getCheckpoint,
  getRecord,
  getProof,
];
