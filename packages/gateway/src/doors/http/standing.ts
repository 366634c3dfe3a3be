import { CODES } from '@palisade/sdk';
import type { Config } from '../../config/config.ts';
import type { Scope } from '../../core/caller.ts';
import { resourceMetadata } from '../../identity/resource-metadata.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import { readHead } from '../../journal/head.ts';
import { problemDocument } from './problem.ts';
import type { TextReply } from './reply.ts';

/* Addresses that are there for whoever watches or discovers the gateway, beside those of the table. */

/** Where the metadata of a resource is: that of the gateway, and that of its MCP endpoint. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';
export const MCP_PATH = '/mcp';

export type Standing = {
  /** What it takes to see it: a scope, or nothing at all. */
  readonly scope: Scope | 'anybody';
  readonly reply: () => Promise<TextReply> | TextReply;
};

export type StandingParts = {
  readonly gateway: Pick<Gateway, 'store' | 'policy'> & { readonly config: Config };
  readonly url: string;
  readonly metrics: () => Promise<string>;
  readonly isDraining: () => boolean;
  /** Pages that anybody may read, by their path. */
  readonly pages: Readonly<Record<string, { readonly type: string; readonly text: string }>>;
};

export function makeStanding(parts: StandingParts): ReadonlyMap<string, Standing> {
  const { gateway, url, metrics, pages } = parts;
  const metadata = (path: string): Standing => ({
    scope: 'anybody',
    reply: () => json(200, resourceMetadata(gateway.config, `${url}${path}`)),
  });
  return new Map<string, Standing>([
    ['/healthz', { scope: 'anybody', reply: () => json(200, { status: 'ok' }) }],
    ['/readyz', { scope: 'anybody', reply: () => readiness(parts) }],
    ['/metrics', { scope: 'read', reply: async () => text(METRICS_TYPE, await metrics()) }],
    [METADATA_PATH, metadata('/')],
    [`${METADATA_PATH}${MCP_PATH}`, metadata(MCP_PATH)],
    ...Object.entries(pages).map(
      ([path, page]) =>
        [path, { scope: 'anybody', reply: () => text(page.type, page.text) }] satisfies [string, Standing],
    ),
  ]);
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Ready means that a call would not be refused by the gateway itself. */
function readiness({ gateway, isDraining }: StandingParts): TextReply {
  if (isDraining()) return notReady('door/draining', 'Cannot take calls: the gateway is about to stop');
  if (gateway.policy.set === null)
    return notReady('policy/unavailable', 'Cannot take calls: no policy set is loaded');
  readHead(gateway.store);
  return json(200, { status: 'ready' });
}

function notReady(code: 'door/draining' | 'policy/unavailable', detail: string): TextReply {
  const type = 'application/problem+json; charset=utf-8';
  const body = JSON.stringify(problemDocument({ code, detail }));
  return { kind: 'text', status: CODES[code].httpStatus, type, text: body };
}

function json(status: number, body: object): TextReply {
  return { kind: 'text', status, type: 'application/json; charset=utf-8', text: JSON.stringify(body) };
}

function text(type: string, body: string): TextReply {
  return { kind: 'text', status: 200, type, text: body };
}
