import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import type { ListedCall, RunPage } from '../wire.ts';

/** Runs: what their calls say that they are part of. */
export function makeRuns(send: Sender) {
  const callsOf = (id: string) =>
    pagesOf<PageAsked, RunPage, ListedCall>(
      (query, options) => send.json('getRun', { params: { id }, query, options }),
      ({ calls }) => calls,
    );
  return {
    /** A page of the calls of a run, the newest first. */
    get: (id: string, query?: PageAsked, options?: RequestOptions) => callsOf(id).list(query, options),
    /** All calls of a run. */
    calls: (id: string, query?: PageAsked, options?: RequestOptions) => callsOf(id).all(query, options),
  };
}
