import { setTimeout as sleep } from 'node:timers/promises';
import { search } from '../../../journal/search.ts';
import { recordOf } from '../../../operations/record-document.ts';
import { numberOf } from '../input.ts';
import { printRecords } from '../records.ts';
import type { Invocation } from '../verb.ts';

const POLL_MS = 250;

export async function run(invocation: Invocation): Promise<number> {
  const { print, flags, signal } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 10_000, absent: 20 });
  const records = await invocation.openRecords();
  try {
    const page = search(records.segments, {}, { newestFirst: true, limit, cursor: null });
    const newest = [...page.records].reverse();
    if (print.json && flags.follow !== true) print.document({ records: newest.map(recordOf) });
    else if (print.json) for (const row of newest) print.document(recordOf(row));
    else printRecords(print, newest);
    if (flags.follow !== true) return 0;
    let cursor = newest.at(-1)?.seq ?? 0;
    while (!signal.aborted) {
      const { records: found } = search(records.segments, {}, { newestFirst: false, limit: 1000, cursor });
      for (const row of found) {
        if (print.json) print.document(recordOf(row));
        else
          print.line(
            `${row.seq}  ${recordOf(row).at}  ${row.kind}  ${row.principal ?? '-'}  ${row.tool ?? '-'}  ${row.call ?? '-'}`,
          );
      }
      cursor = found.at(-1)?.seq ?? cursor;
      if (found.length === 0) await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
    return 0;
  } finally {
    await records.close();
  }
}
