import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import type { ToolPage, ToolRow } from '../wire.ts';

/** The tools that this caller could be permitted to call. */
export function makeTools(send: Sender) {
  return {
    ...pagesOf<PageAsked, ToolPage, ToolRow>(
      (query, options) => send.json('listTools', { query, options }),
      ({ tools }) => tools,
    ),
    get: (id: string, options?: RequestOptions) => send.json('getTool', { params: { id }, options }),
  };
}
