import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { onTestFinished } from 'vitest';
import type { Caller } from '../../../src/core/caller.ts';
import type { Json } from '../../../src/core/json.ts';
import type { Mcp } from '../../../src/doors/mcp/index.ts';
import { CALLER, envelope, MODERN } from './raw-client.ts';

const ADDRESS = 'http://127.0.0.1/mcp';

export type Wishes = {
  readonly caller?: Caller;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly method?: string;
};

/** One POST as the HTTP door hands it on. */
export function post(mcp: Mcp, body: Json | string, wishes: Wishes = {}): Promise<Response> {
  const { caller = CALLER, headers = {}, signal } = wishes;
  const request = new Request(ADDRESS, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  return mcp.fetch(request, caller);
}

/** A request of the modern era with all its headers. */
export function postModern(
  mcp: Mcp,
  method: string,
  params: Record<string, Json> = {},
  wishes: Wishes & { readonly capabilities?: Json } = {},
): Promise<Response> {
  const { _meta = {}, ...rest } = params;
  const meta = { ...envelope(wishes.capabilities ?? {}), ...(_meta as Record<string, Json>) };
  const name = params.name ?? params.uri;
  const headers = {
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    ...wishes.headers,
  };
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...rest, _meta: meta } };
  return post(mcp, body, { ...wishes, headers });
}

/** The messages of a response, of either form. */
export async function messagesOf(response: Response): Promise<Json[]> {
  const text = await response.text();
  if (response.headers.get('content-type')?.startsWith('application/json')) return [JSON.parse(text)];
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Json);
}

/** The door behind a real socket on the loopback, as any client sees it. */
export async function listen(mcp: Mcp, caller: Caller = CALLER): Promise<URL> {
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const headers = new Headers();
    for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
    const hasBody = incoming.method === 'POST';
    const request = new Request(new URL(incoming.url ?? '/', ADDRESS), {
      method: incoming.method ?? 'GET',
      headers,
      signal: gone.signal,
      ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}),
    } as RequestInit);
    const response = await mcp.fetch(request, caller);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null) outgoing.end();
    else
      Readable.fromWeb(response.body as NodeStream)
        .on('error', () => outgoing.destroy())
        .pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
}
