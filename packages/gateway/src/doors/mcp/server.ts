import {
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Asking } from './asking.ts';
import { callTool } from './call-tool.ts';
import type { Client, Door } from './door.ts';
import { CAPABILITIES, DISCOVERY_HINT, INSTRUCTIONS, LEGACY_VERSIONS, serverInfo } from './greeting.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import { listResources, listTemplates, readResource } from './resources.ts';
import { complete } from './upstream-methods.ts';

/** How long a client may cache a list; changes are announced besides. */
const LISTS_TTL_MS = 60_000;
const OWN = { cacheScope: 'private' } as const;

/** We check answers ourselves; the checker that the SDK would make for it takes longer than a call. */
const NO_VALIDATOR: jsonSchemaValidator = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'not checked here' }),
};

const OPTIONS: ServerOptions = {
  capabilities: CAPABILITIES,
  supportedProtocolVersions: LEGACY_VERSIONS,
  instructions: INSTRUCTIONS,
  jsonSchemaValidator: NO_VALIDATOR,
  inputRequired: { legacyShim: false },
  cacheHints: {
    'tools/list': { ttlMs: LISTS_TTL_MS, ...OWN },
    'prompts/list': { ttlMs: LISTS_TTL_MS, ...OWN },
    'resources/templates/list': { ttlMs: LISTS_TTL_MS, ...OWN },
    'server/discover': DISCOVERY_HINT,
    'resources/list': { ttlMs: 0, ...OWN },
    'resources/read': { ttlMs: LISTS_TTL_MS, ...OWN },
  },
};

// Boundary: what a client sends with each method; anything else is answered as invalid parameters.
const PAGED = { params: z.object({ cursor: z.string().max(1_024).optional() }) };
const CALLED = {
  params: z.object({ name: z.string().min(1), arguments: z.record(z.string(), z.unknown()).optional() }),
};
const READ = { params: z.object({ uri: z.string() }) };
const PROMPTED = {
  params: z.object({ name: z.string(), arguments: z.record(z.string(), z.string()).optional() }),
};

const COMPLETED = {
  params: z.object({
    ref: z.discriminatedUnion('type', [
      z.object({ type: z.literal('ref/prompt'), name: z.string() }),
      z.object({ type: z.literal('ref/resource'), uri: z.string() }),
    ]),
    argument: z.object({ name: z.string(), value: z.string() }),
    context: z.object({ arguments: z.record(z.string(), z.string()).optional() }).optional(),
  }),
};

/** One client's server: the protocol is the SDK's, everything behind a method is ours. */
export function makeServer(door: Door, client: Client): Server {
  const { caller } = client;
  const server = new Server(serverInfo(door.version), OPTIONS);
  server.setRequestHandler('tools/list', PAGED, ({ cursor }) => {
    const page = door.tools.page(caller, cursor);
    if (page === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid cursor');
    return page;
  });
  const askingIn = (ctx: ServerContext): Asking => ({ door, client, server, ctx });
  server.setRequestHandler('tools/call', CALLED, (params, ctx) => callTool(askingIn(ctx), params));
  server.setRequestHandler('resources/list', PAGED, ({ cursor }) => listResources(door, caller, cursor));
  server.setRequestHandler('resources/templates/list', PAGED, () => listTemplates(door, caller));
  server.setRequestHandler('resources/read', READ, ({ uri }, ctx) => readResource(askingIn(ctx), uri));
  server.setRequestHandler('prompts/list', PAGED, () => listPrompts(door, caller));
  server.setRequestHandler('prompts/get', PROMPTED, (params, ctx) =>
    getPrompt(askingIn(ctx), params.name, params.arguments ?? {}),
  );
  server.setRequestHandler('completion/complete', COMPLETED, (params, ctx) =>
    complete(askingIn(ctx), params),
  );
  server.onerror = (error) => door.log('debug', 'mcp.error', { name: error.name });
  return server;
}
