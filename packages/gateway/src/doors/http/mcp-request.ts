import type { Caller } from '../../core/caller.ts';
import { readBody, requireType } from './body.ts';
import { hasBody } from './incoming.ts';
import type { Way } from './reply.ts';

/** The MCP door, which speaks the words of the web platform. */
export type McpFetch = (request: Request, caller: Caller) => Promise<Response>;

export const MCP_METHODS = ['DELETE', 'GET', 'POST'] as const;

/** The request as the MCP door takes it; its body was read within the limit and is JSON by what it says. */
export async function makeMcpRequest(
  way: Way,
  {
    url,
    maxBytes,
    signal,
  }: { readonly url: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Request> {
  const { request } = way;
  const { method = 'GET', rawHeaders } = request;
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  if (!hasBody(request)) return new Request(url, { method, headers, signal });
  requireType(request, 'application/json');
  const body = new Uint8Array(await readBody(way, maxBytes));
  return new Request(url, { method, headers, signal, ...(method === 'POST' ? { body } : {}) });
}
