import { search } from '../journal/search.ts';
import type { Records } from './gateway.ts';

/** Enough for every record of one call. */
const RECORDS_OF_A_CALL = 16;

/** The receipt of a call as the journal has it, an envelope of JSON; null where the call has none. */
export function receiptOf({ segments }: Pick<Records, 'segments'>, callId: string): string | null {
  const page = search(
    segments,
    { call: callId },
    { newestFirst: true, limit: RECORDS_OF_A_CALL, cursor: null },
  );
  for (const { line } of page.records) {
    const { body } = JSON.parse(line) as { body?: { envelope?: unknown } };
    if (body?.envelope !== undefined) return JSON.stringify(body.envelope);
  }
  return null;
}
