import { type ZodType, z } from 'zod';
import type { Scope } from '../../core/caller.ts';

/** One address beside the table of routes: it is read, and changes nothing. */
export type StandingOperation = {
  readonly path: string;
  readonly name: string;
  readonly sentence: string;
  /** What it takes to see it: a scope, or nothing at all. */
  readonly scope: Scope | 'anybody';
  readonly type: string;
  readonly schema?: ZodType;
};

const metadata = z.looseObject({ resource: z.url() }).meta({ id: 'ProtectedResourceMetadata' });
const METADATA = '/.well-known/oauth-protected-resource';

/** What standing.ts answers, for the document. */
export const STANDING_OPERATIONS: readonly StandingOperation[] = [
  {
    path: '/healthz',
    name: 'getHealth',
    sentence: 'Says that the process answers.',
    scope: 'anybody',
    type: 'application/json',
    schema: z.object({ status: z.literal('ok') }),
  },
  {
    path: '/readyz',
    name: 'getReadiness',
    sentence: 'Says whether a call would be taken now.',
    scope: 'anybody',
    type: 'application/json',
    schema: z.object({ status: z.literal('ready') }),
  },
  {
    path: '/metrics',
    name: 'getMetrics',
    sentence: 'Gives the counters of the gateway in the text format of Prometheus.',
    scope: 'read',
    type: 'text/plain',
  },
  {
    path: METADATA,
    name: 'getResourceMetadata',
    sentence: 'Says whose tokens are taken here (RFC 9728).',
    scope: 'anybody',
    type: 'application/json',
    schema: metadata,
  },
  {
    path: `${METADATA}/mcp`,
    name: 'getMcpResourceMetadata',
    sentence: 'Says whose tokens the MCP endpoint takes (RFC 9728).',
    scope: 'anybody',
    type: 'application/json',
    schema: metadata,
  },
  {
    path: '/openapi.json',
    name: 'getOpenApi',
    sentence: 'Gives this document.',
    scope: 'anybody',
    type: 'application/json',
    schema: z.looseObject({ openapi: z.string() }),
  },
  {
    path: '/docs',
    name: 'getDocs',
    sentence: 'Gives this document as a page for people.',
    scope: 'anybody',
    type: 'text/html',
  },
];

/** What the tags of the routes are about. */
export const TAGS: Readonly<Record<string, string>> = {
  calls: 'Calls of tools: made, followed, looked at, cancelled.',
  tools: 'What can be called.',
  approvals: 'Questions that policies put to people.',
  budgets: 'What may be used up, and what is left.',
  skills: 'Packages of tools: installed, audited, approved, withdrawn.',
  trust: 'Whose signatures count.',
  policies: 'What decides about everything else.',
  secrets: 'Values that go in and never come out.',
  journal: 'What was asked, decided and done, in one signed chain.',
  upstreams: 'MCP servers behind this gateway.',
  keys: 'The keys that sign receipts and the journal.',
  identity: 'Who calls, and the tokens by which that is known.',
  gateway: 'What the gateway and its machine are like.',
  operations: 'For whoever watches or discovers the gateway.',
};
