import { type PageAsked, pagesOf } from '../pages.ts';
import { PalisadeError } from '../palisade-error.ts';
import { makeTurns, repeat } from '../repeat.ts';
import type { OperationName } from '../routes.ts';
import { EVENTS_TYPE, type OperationArguments, type RequestOptions, type Sender } from '../send.ts';
import { readEvents } from '../server-events.ts';
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
    /** The record of that number, or all records of a call, with their hashes. */
    get: (seq: number | string, options?: RequestOptions) =>
      send.json('getRecord', { params: { seq: String(seq) }, options }),
    /** Records as they are written, for as long as the caller listens; broken connections are re-established. */
    live: (options?: LiveOptions) => followJournal(send, options),
    /** The bytes of an export as they come: `verifyJournal(linesOf(client.journal.export()), keys)`. */
    export: (query?: { readonly from?: number | undefined }, options?: RequestOptions) =>
      downloadOf(send, 'exportJournal', { query, options }),
    /** That a record, or the ending of a call, is in the journal, as `verifyProof` takes it. */
    proof: (seq: number | string, options?: RequestOptions) =>
      send.text('proveRecord', { params: { seq: String(seq) }, options }),
    /** The current state of the journal, signed, as `verifyCheckpoint` takes it. */
    checkpoint: (options?: RequestOptions) => send.text('getCheckpoint', { options }),
  };
}

export type LiveOptions = RequestOptions & {
  /** Begins after the record of this number; if absent, with what is written from now on. */
  readonly after?: number | undefined;
};

/**
 * Yields records as they are written, each once and in their order. Where the connection breaks, it continues after the
 * last record received. It ends when its reader stops, its signal fires, or the gateway cannot be reached again.
 */
export async function* followJournal(
  send: Sender,
  options: LiveOptions = {},
): AsyncGenerator<JournalLine, void, undefined> {
  const turns = makeTurns(send.connection, options.signal ?? null);
  let last = options.after === undefined ? null : String(options.after);
  for (;;) {
    try {
      const headers = last === null ? {} : { 'last-event-id': last };
      const reply = await send.open('followJournal', { headers, options }, EVENTS_TYPE);
      try {
        for await (const { event, id, data } of readEvents(reply)) {
          // What a gateway sends twice is yielded once.
          if (event !== 'record' || (id !== '' && last !== null && Number(id) <= Number(last))) continue;
          turns.reset();
          if (id !== '') last = id;
          yield data as JournalLine;
        }
      } finally {
        reply.close();
      }
      const detail = 'Cannot follow the journal: the gateway ended the stream';
      throw new PalisadeError({ code: 'client/unreachable', detail });
    } catch (error) {
      await turns.next(error);
    }
  }
}

/** The bytes of a reply as they come. Requested when the first are read; once they flow, nothing is repeated. */
export async function* downloadOf<Name extends OperationName>(
  send: Sender,
  name: Name,
  args: OperationArguments<Name>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reply = await repeat(send.connection, args.options?.signal ?? null, () => send.open(name, args));
  try {
    yield* reply.chunks;
  } finally {
    reply.close();
  }
}
