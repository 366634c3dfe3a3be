import { downloadOf } from '../download.ts';
import { followJournal, type LiveOptions } from '../follow-journal.ts';
import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import type { JournalLine, JournalPage } from '../wire.ts';

export type JournalAsked = PageAsked & {
  readonly kind?: string | undefined;
  readonly principal?: string | undefined;
  readonly tool?: string | undefined;
  readonly call?: string | undefined;
  /** Times in UTC, as 2026-01-31T12:00:00Z. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly order?: 'newest' | 'oldest' | undefined;
};

export function makeJournal(send: Sender) {
  const { list, all } = pagesOf<JournalAsked, JournalPage, JournalLine>(
    (query, options) => send.json('searchJournal', { query, options }),
    ({ records }) => records,
  );
  return {
    search: list,
    all,
    /** The record of that number, with its hash. */
    get: (seq: number, options?: RequestOptions) =>
      send.json('getRecord', { params: { seq: String(seq) }, options }),
    /** Records as they are written, for as long as one listens; breaks of the connection are mended. */
    live: (options?: LiveOptions) => followJournal(send, options),
    /** The bytes of an export as they come: `verifyJournal(linesOf(client.journal.export()), keys)`. */
    export: (query?: { readonly from?: number | undefined }, options?: RequestOptions) =>
      downloadOf(send, 'exportJournal', { query, options }),
    /** That a record is in the journal, as `verifyProof` takes it. */
    proof: (seq: number, options?: RequestOptions) =>
      send.text('proveRecord', { params: { seq: String(seq) }, options }),
    /** What the journal is just now, signed, as `verifyCheckpoint` takes it. */
    checkpoint: (options?: RequestOptions) => send.text('getCheckpoint', { options }),
  };
}
