import { setTimeout as sleep } from 'node:timers/promises';
import { wrongUsage } from '../core/coded-error.ts';
import type { Json } from '../core/json.ts';
import { readHead } from '../journal/head.ts';
import { exportLines, search } from '../journal/search.ts';
import { recordTenantsOf, requireReader } from './access.ts';
import type { OperationContext, ServerEvent } from './operation.ts';
import { recordOf } from './record-document.ts';

/* The journal as it is written, and as a file for verifiers. */

const POLL_MS = 250;
const PAGE_RECORDS = 500;
/** How often the reader's permission to read is checked again. */
const RECHECK_MS = 5_000;
const CHUNK_CHARS = 64 * 1024;

/** The record to continue after: the one that the caller has seen, or the newest. */
export function startAfter({ gateway }: OperationContext, seen: string | undefined): number {
  const head = readHead(gateway.store).seq;
  if (seen === undefined || seen === '') return head;
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(seen) || !Number.isSafeInteger(Number(seen)))
    throw wrongUsage('Cannot follow the journal: Last-Event-ID is not the number of a record');
  // A future record would be waited for.
  return Math.min(Number(seen), head);
}

/** An event for each record after one, until the signal fires. */
export async function* followRecords(context: OperationContext, start: number): AsyncGenerator<ServerEvent> {
  const { signal, gateway } = context;
  const { segments, store, clock } = gateway;
  const tenants = recordTenantsOf(context);
  const wanted = tenants === undefined ? {} : { tenants };
  let [cursor, checkedAtMs] = [start, clock.monotonicMs()];
  while (!signal.aborted) {
    // Boundary: a reader whose permission has ended gets no further record, although its connection is open.
    if (clock.monotonicMs() - checkedAtMs >= RECHECK_MS) {
      await context.recheck?.();
      requireReader(context);
      checkedAtMs = clock.monotonicMs();
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

/** The lines of an export; what cannot be exported is thrown before the first byte. */
export function exportChunks(
  { gateway, signal }: OperationContext,
  from: number,
): AsyncGenerator<Uint8Array> {
  const lines = exportLines(gateway, from);
  return chunksOf(lines.next(), lines, signal);
}

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
    // Other callers get their turn between two chunks.
    await sleep(0);
    if (signal.aborted) return;
  }
  if (text !== '') yield Buffer.from(text);
}
