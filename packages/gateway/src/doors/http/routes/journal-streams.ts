import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '../../../core/coded-error.ts';
import type { Json } from '../../../core/json.ts';
import { readHead } from '../../../journal/head.ts';
import { exportLines, search } from '../../../journal/search.ts';
import { recordOf } from '../../documents/records.ts';
import { requireHome, requireReader } from '../may-see.ts';
import { type Asked, type Route, route, type ServerEvent } from '../route.ts';
import { exportQuery } from '../schemas/journal.ts';
import { tenantsOf } from './journal-tenants.ts';

const TAG = 'journal';
const POLL_MS = 250;
const PAGE_RECORDS = 500;
/** Every so often it is asked anew whether the reader may still read. */
const RECHECK_MS = 5_000;
const CHUNK_CHARS = 64 * 1024;

const live = route({
  method: 'GET',
  path: '/v1/journal/live',
  name: 'followJournal',
  tag: TAG,
  sentence:
    'Follows the records of the tenant as they are written: events `record`, each with its number as id.',
  scope: 'read',
  headers: { 'last-event-id': 'The number of the last record that came; left out: only what is new.' },
  replies: {
    200: { type: 'text/event-stream', sentence: 'One event for each record, until the client goes.' },
  },
  handle: async (asked) => {
    requireReader(asked);
    return { kind: 'events', events: follow(asked, startOf(asked)) };
  },
});

type Asking = Pick<Asked, 'gateway' | 'caller' | 'headers' | 'signal' | 'recheck'>;

function startOf({ gateway, headers }: Asking): number {
  const last = headers['last-event-id'];
  const head = readHead(gateway.store).seq;
  if (last === undefined || last === '') return head;
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(last) || !Number.isSafeInteger(Number(last)))
    throw new CodedError('door/wrong-usage', 'Cannot go on: Last-Event-ID is no number of a record');
  // One that is still to come would be waited for.
  return Math.min(Number(last), head);
}

async function* follow(asked: Asking, start: number): AsyncGenerator<ServerEvent> {
  const { gateway, signal } = asked;
  const { segments, store, clock } = gateway;
  const wanted = { tenants: tenantsOf(asked) };
  let [cursor, askedAtMs] = [start, clock.monotonicMs()];
  while (!signal.aborted) {
    // Boundary: whoever may read no more is told no more, although the connection stands.
    if (clock.monotonicMs() - askedAtMs >= RECHECK_MS) {
      await asked.recheck();
      requireReader(asked);
      askedAtMs = clock.monotonicMs();
    }
    const head = readHead(store).seq;
    const page = { newestFirst: false, limit: PAGE_RECORDS, cursor };
    const { records } = cursor < head ? search(segments, wanted, page) : { records: [] };
    for (const row of records)
      yield { event: 'record', id: String(row.seq), data: recordOf(row) as unknown as Json };
    const last = records.at(-1)?.seq ?? cursor;
    cursor = records.length === PAGE_RECORDS ? last : Math.max(last, head);
    if (records.length < PAGE_RECORDS) await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

const exportJournal = route({
  method: 'GET',
  path: '/v1/journal/export',
  name: 'exportJournal',
  tag: TAG,
  sentence:
    'Exports the journal of the whole gateway, of all tenants, as lines that anyone can verify offline.',
  scope: 'read',
  query: exportQuery,
  replies: { 200: { type: 'application/x-ndjson', sentence: 'One JSON document a line.' } },
  handle: async (asked) => {
    // Boundary: the chain has the records of every tenant, so it is for the operators of the gateway.
    requireHome(asked);
    requireReader(asked);
    const lines = exportLines(asked.gateway, Number(asked.query.from));
    // What cannot be exported is told before the first byte.
    const first = lines.next();
    return {
      kind: 'bytes',
      type: 'application/x-ndjson',
      chunks: chunksOf(first, lines, asked.signal),
      name: 'journal.ndjson',
    };
  },
});

async function* chunksOf(
  first: IteratorResult<string>,
  lines: Generator<string>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let text = '';
  for (let next = first; next.done !== true; next = lines.next()) {
    text += `${next.value}\n`;
    if (text.length < CHUNK_CHARS) continue;
    yield Buffer.from(text);
    text = '';
    // Others get their turn between two chunks.
    await sleep(0);
    if (signal.aborted) return;
  }
  if (text !== '') yield Buffer.from(text);
}

export const journalStreamsRoutes: readonly Route[] = [live, exportJournal];
