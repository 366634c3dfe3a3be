import type { RequestOptions, Sender } from '../send.ts';
import type { ApproveUpstreamRequest } from '../wire.ts';

/** The MCP servers behind the gateway. */
export function makeUpstreams(send: Sender) {
  return {
    list: (options?: RequestOptions) => send.json('listUpstreams', { options }),
    get: (name: string, options?: RequestOptions) => send.json('getUpstream', { params: { name }, options }),
    /** Accepts what a server offers, if it still is what was shown. */
    approve: (name: string, body: ApproveUpstreamRequest, options?: RequestOptions) =>
      send.json('approveUpstream', { params: { name }, body, options }),
  };
}
