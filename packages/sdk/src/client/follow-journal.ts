import { readEvents } from './event-stream.ts';
import { PalisadeError } from './palisade-error.ts';
import { makeTurns } from './repeat.ts';
import { EVENTS_TYPE, type RequestOptions, type Sender } from './send.ts';
import type { JournalLine } from './wire.ts';

export type LiveOptions = RequestOptions & {
  /** Begins behind the record of this number; left out: with what is written from now on. */
  readonly after?: number | undefined;
};

/**
 * Yields records as they are written, each once and in their order. Where the connection breaks, it goes on behind the
 * last record that came. It ends when its reader stops, its signal fires, or the gateway cannot be had again.
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
          // What a gateway tells twice is told once.
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
