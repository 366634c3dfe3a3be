import { CODES } from '@palisade/sdk';
import type { ZodType } from 'zod';
import * as z from 'zod';
import type { Config } from '../../config/config.ts';
import type { Scope } from '../../core/caller.ts';
import { resourceMetadata } from '../../identity/resource-metadata.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import { readHead } from '../../journal/head.ts';
import { type Reading, requireHomeReader } from '../../operations/access.ts';
import type { TextAnswer } from './answer.ts';
import { problemDocument } from './problem.ts';

/* Addresses for those who monitor or discover the gateway, beside the operations. They are read, and change nothing. */

/** Where the metadata of a resource is: that of the gateway, and that of its MCP endpoint. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';
export const MCP_PATH = '/mcp';

const JSON_TYPE = 'application/json; charset=utf-8';

export type StaticPageParts = {
  readonly gateway: Pick<Gateway, 'store' | 'policy'> & { readonly config: Config };
  readonly url: string;
  readonly metrics: () => Promise<string>;
  readonly isDraining: () => boolean;
  /** The description of the operations, for programs. */
  readonly openApi: string;
};

/** What is answered at one address. */
export type Page = {
  readonly path: string;
  /** What its requests are counted as; its path unless it is named. */
  readonly route?: string;
  /** The scope that is needed to see it; without, no credential at all is. */
  readonly scope?: Scope;
  /** Refuses callers that the page is not for. */
  readonly access?: (reading: Reading) => void;
  readonly answer: (parts: StaticPageParts) => Promise<TextAnswer> | TextAnswer;
};

/** One that is described beside the operations. */
export type StaticPage = Page & {
  readonly name: string;
  readonly sentence: string;
  /** JSON unless it is named. */
  readonly type?: string;
  readonly schema?: ZodType;
};

const metadata = z.looseObject({ resource: z.url() }).meta({ id: 'ProtectedResourceMetadata' });

export const STATIC_PAGES: readonly StaticPage[] = [
  {
    path: '/healthz',
    name: 'getHealth',
    sentence: 'Says that the process answers.',
    schema: z.object({ status: z.literal('ok') }),
    answer: () => json({ status: 'ok' }),
  },
  {
    path: '/readyz',
    name: 'getReadiness',
    sentence: 'Says whether a call would be taken now.',
    schema: z.object({ status: z.literal('ready') }),
    answer: readiness,
  },
  {
    path: '/metrics',
    name: 'getMetrics',
    sentence:
      'Gives the counters of the gateway, of all tenants, in the text format of Prometheus. For callers of its own tenant whom the policies permit to read the journal.',
    scope: 'read',
    // Boundary: what all tenants do together is for those who operate the gateway.
    access: requireHomeReader,
    type: 'text/plain',
    answer: async ({ metrics }) => text('text/plain; version=0.0.4; charset=utf-8', await metrics()),
  },
  {
    path: METADATA_PATH,
    name: 'getResourceMetadata',
    sentence: 'Says whose tokens are taken here (RFC 9728).',
    schema: metadata,
    answer: ({ gateway, url }) => json(resourceMetadata(gateway.config, `${url}/`)),
  },
  {
    path: `${METADATA_PATH}${MCP_PATH}`,
    name: 'getMcpResourceMetadata',
    sentence: 'Says whose tokens the MCP endpoint takes (RFC 9728).',
    schema: metadata,
    answer: ({ gateway, url }) => json(resourceMetadata(gateway.config, `${url}${MCP_PATH}`)),
  },
  {
    path: '/openapi.json',
    name: 'getOpenApi',
    sentence: 'Gives this document.',
    schema: z.looseObject({ openapi: z.string() }),
    answer: ({ openApi }) => text(JSON_TYPE, openApi),
  },
];

/** Ready means that a call would not be refused by the gateway itself. */
function readiness({ gateway, isDraining }: StaticPageParts): TextAnswer {
  if (isDraining()) return notReady('door/draining', 'Cannot take calls: the gateway is about to stop');
  if (gateway.policy.set === null)
    return notReady('policy/unavailable', 'Cannot take calls: no policy set is loaded');
  readHead(gateway.store);
  return json({ status: 'ready' });
}

function notReady(code: 'door/draining' | 'policy/unavailable', detail: string): TextAnswer {
  const type = 'application/problem+json; charset=utf-8';
  const body = JSON.stringify(problemDocument({ code, detail }));
  return { status: CODES[code].httpStatus, type, text: body };
}

function json(body: object): TextAnswer {
  return text(JSON_TYPE, JSON.stringify(body));
}

function text(type: string, body: string): TextAnswer {
  return { status: 200, type, text: body };
}
