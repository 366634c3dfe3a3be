import type { RequestOptions } from './send.ts';

/** Which part of a list. */
export type PageAsked = { readonly limit?: number | undefined; readonly cursor?: string | undefined };

type Page = { readonly cursor: string | null };

/** A method that lists, and one that goes through the whole list, from what reads one page. */
export function pagesOf<Q extends PageAsked, P extends Page, T>(
  read: (query: Partial<Q>, options?: RequestOptions) => Promise<P>,
  itemsIn: (page: P) => readonly T[],
) {
  return {
    /** One page; its cursor requests the next one. */
    list: (query: Partial<Q> = {}, options?: RequestOptions) => read(query, options),
    /** Every item from the first page to the last; the next page is requested when it is needed. */
    async *all(query: Partial<Q> = {}, options?: RequestOptions): AsyncGenerator<T, void, undefined> {
      let request = query;
      for (;;) {
        const page = await read(request, options);
        yield* itemsIn(page);
        // A page that points to itself would be read forever.
        if (page.cursor === null || page.cursor === request.cursor) return;
        request = { ...query, cursor: page.cursor };
      }
    },
  };
}
