import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Caller } from '../../core/caller.ts';
import { isWithin } from '../../core/paths.ts';
import { type Principal, parsePrincipal } from '../../core/principal.ts';
import { settle } from '../../runner/forbidden.ts';
import type { WorkspaceRoots } from '../../runner/roots.ts';
import { type Mcp, makeMcp } from '../mcp/index.ts';
import type { MessageId } from '../mcp/message.ts';
import { placeIn } from './caller.ts';
import { AS_HEADER, LOCAL_MCP } from './local-client.ts';
import { requirePlain, targetOf } from './request.ts';

/*
 * MCP clients of `palisade mcp` that the daemon serves: the command hands its standard input and output on by the local
 * socket, as a connection that was upgraded to lines of JSON. Who can open the socket is the owner of the state directory,
 * so the client is who the command says, and the person at it is the owner, as without a daemon. A client whose commands
 * would work elsewhere than in this gateway is not served; it then opens a gateway of its own.
 */

type LocalMcpParts = Parameters<typeof makeMcp>[0] & {
  /** The owner of the state directory. */
  readonly owner: Principal;
};

type LocalMcpClient = { readonly caller: Caller; readonly answered: MessageId | null };

type Refusal = 400 | 404 | 409 | 503;

export class LocalSessions {
  readonly #parts: LocalMcpParts;
  readonly #open = new Map<Mcp, Duplex>();
  #isDraining = false;

  constructor(parts: LocalMcpParts) {
    this.#parts = parts;
  }

  /** Serves the client of one upgraded connection until it ends; never throws. */
  async serve(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => undefined);
    const client = this.#clientOf(request);
    if (typeof client === 'number') {
      socket.end(
        `HTTP/1.1 ${client} ${STATUS_CODES[client]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      );
      return;
    }
    const { caller, answered } = client;
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${LOCAL_MCP.protocol}\r\n\r\n`,
    );
    if (head.length > 0) socket.unshift(head);
    // Its own door: when this client leaves, only its own calls are waited for.
    const mcp = makeMcp(this.#parts);
    this.#open.set(mcp, socket);
    try {
      await mcp.serveStdio({ stdin: socket, stdout: socket, answered }, caller, new AbortController().signal);
    } finally {
      await mcp.close();
      this.#open.delete(mcp);
      socket.end();
    }
  }

  /** From now on no request is read; those that run are answered. */
  drain(): void {
    this.#isDraining = true;
    for (const socket of this.#open.values()) socket.pause();
  }

  /** Ends all sessions, and waits until their calls are on record. */
  async close(): Promise<void> {
    const open = [...this.#open];
    await Promise.all(open.map(([mcp]) => mcp.close()));
    for (const [, socket] of open) socket.destroy();
  }

  #clientOf(request: IncomingMessage): LocalMcpClient | Refusal {
    const { gateway, version, owner } = this.#parts;
    const asked = askedOf(request);
    if (asked === null) return 400;
    const { path, query } = asked;
    if (path !== LOCAL_MCP.path || request.headers.upgrade !== LOCAL_MCP.protocol) return 404;
    if (this.#isDraining) return 503;
    const principal = parsePrincipal(String(request.headers[AS_HEADER] ?? ''));
    const answered = answeredIn(query.get('answered'));
    const place = placeIn(request.headers);
    if (principal === null || place === null || answered === undefined) return 400;
    const isAlike =
      query.get('version') === version &&
      worksAlike(gateway.workspaces, { cwd: query.get('cwd') ?? '', granted: query.getAll('workspace') });
    if (!isAlike) return 409;
    const { tenant } = gateway.config.gateway;
    const scopes = new Set(['call'] as const);
    const caller: Caller = { principal, tenant, scopes, credential: 'process', approver: owner, ...place };
    return { caller, answered };
  }
}

/** The id of the request that the command has answered itself; undefined where it is not one. */
function answeredIn(text: string | null): MessageId | null | undefined {
  if (text === null) return null;
  try {
    const id = JSON.parse(text) as unknown;
    return typeof id === 'string' || Number.isSafeInteger(id) ? (id as MessageId) : undefined;
  } catch {
    return undefined;
  }
}

function askedOf(request: IncomingMessage): { path: string; query: URLSearchParams } | null {
  try {
    requirePlain(request);
    const { path, query } = targetOf(request);
    return { path, query: new URLSearchParams(query) };
  } catch {
    return null;
  }
}

type StartedIn = { readonly cwd: string; readonly granted: readonly string[] };

/** Whether a process that was started like this would have the same roots and the same default. */
export function worksAlike(workspaces: WorkspaceRoots, { cwd, granted }: StartedIn): boolean {
  const { roots, grantedBy, defaultWorkspace } = workspaces;
  const here = settle(cwd);
  if (granted.length > 0) {
    const own = new Set(granted.map(settle));
    // Boundary: a client is not given more directories than its command line grants.
    if (own.size !== new Set(roots).size || !roots.every((root) => own.has(root))) return false;
  } else if (grantedBy === 'nothing' || grantedBy === '--workspace') return false;
  else if (grantedBy !== 'process.workspaces') return roots[0] === here;
  const first = granted[0] === undefined ? (roots[0] ?? null) : settle(granted[0]);
  return (roots.some((root) => isWithin(here, root)) ? here : first) === defaultWorkspace;
}
