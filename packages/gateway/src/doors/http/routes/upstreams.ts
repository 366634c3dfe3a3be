import { z } from 'zod';
import { approveUpstream, listUpstreams, showUpstream } from '../../../invoke/upstreams.ts';
import { upstreamDocument, upstreamSummary } from '../../documents/upstreams.ts';
import { requireHome, requireReader } from '../may-see.ts';
import { type Asked, type Route, route } from '../route.ts';
import { approveUpstreamBody, upstream, upstreamList, upstreamName } from '../schemas/upstream.ts';
import { document, json } from './answer.ts';

/* The MCP servers behind the gateway are configured once for all of it. */

const TAG = 'upstreams';
const params = z.object({ name: upstreamName });

function requireSeer(asked: Pick<Asked, 'gateway' | 'caller'>): void {
  requireHome(asked);
  requireReader(asked);
}

const list = route({
  method: 'GET',
  path: '/v1/upstreams',
  name: 'listUpstreams',
  tag: TAG,
  sentence: 'Lists the MCP servers behind the gateway.',
  scope: 'read',
  replies: { 200: document(upstreamList, 'The servers.') },
  handle: async (asked) => {
    requireSeer(asked);
    return json({ upstreams: listUpstreams(asked.gateway).map(upstreamSummary) });
  },
});

const show = route({
  method: 'GET',
  path: '/v1/upstreams/{name}',
  name: 'getUpstream',
  tag: TAG,
  sentence: 'Shows what was accepted of a server, and what it offers instead.',
  scope: 'read',
  params,
  replies: { 200: document(upstream, 'The server.') },
  handle: async (asked) => {
    requireSeer(asked);
    return json(upstreamDocument(showUpstream(asked.gateway, asked.params.name)));
  },
});

const approve = route({
  method: 'POST',
  path: '/v1/upstreams/{name}/approve',
  name: 'approveUpstream',
  tag: TAG,
  sentence: 'Accepts what a server offers, as it was shown.',
  scope: 'admin',
  params,
  body: { type: 'application/json', schema: approveUpstreamBody },
  replies: { 200: document(upstream, 'The server as it stands now.') },
  handle: async (asked) => {
    requireHome(asked);
    const { principal, tenant } = asked.caller;
    const accepting = { principal, tenant, name: asked.params.name, shown: asked.body.digest };
    return json(upstreamDocument(await approveUpstream(asked.gateway, accepting)));
  },
});

export const upstreamsRoutes: readonly Route[] = [list, show, approve];
