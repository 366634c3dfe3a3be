import type { Readable, Writable } from 'node:stream';
import type { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Caller } from '../../core/caller.ts';
import { makeId } from '../../core/clock.ts';
import { type Door, ownerOf } from './door.ts';
import { messageLimits } from './message.ts';
import { makeServer } from './server.ts';
import { StdioWire } from './stdio-wire.ts';

/** Requests of one connection that are open at once; calls have a limit of their own, of the operator's. */
const MOST_OPEN = 1_024;

export type Streams = { readonly stdin: Readable; readonly stdout: Writable };

/**
 * Serves one client over two streams, until the input ends or the signal fires. By then every call of it has ended and is
 * on record: those that were running are cancelled.
 */
export async function serveStreams(
  door: Door,
  { stdin, stdout }: Streams,
  caller: Caller,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, config } = door.gateway;
  const limits = messageLimits(config.input, config.http.maxBodyBytes);
  const textOf = (part: object) => door.tools.textOf(part);
  const wire = new StdioWire({ stdin, stdout, limits, maxOpen: MOST_OPEN, textOf });
  const run = makeId('mcp', clock.nowMs(), random);
  const closed = new Promise<void>((resolve) => {
    // The last server that the SDK makes is the one that stays; each leaves with its connection.
    const servers = new Set<() => void>();
    const handle = serveStdio(
      ({ era }) => {
        const server = makeServer(door, { caller, transport: 'stdio', era, run });
        const leave = announceTo(door, ownerOf(caller), server);
        servers.add(leave);
        return server;
      },
      {
        transport: wire,
        onerror: (error) => door.log('debug', 'mcp.stdio', { name: error.name }),
      },
    );
    const close = () => void handle.close();
    signal.addEventListener('abort', close, { once: true });
    const closedBySdk = wire.onclose;
    wire.onclose = () => {
      closedBySdk?.();
      signal.removeEventListener('abort', close);
      for (const leave of servers) leave();
      resolve();
    };
    if (signal.aborted) close();
  });
  await closed;
  await door.calls.settled();
}

/** Tells a connection of changes for as long as it is open. */
export function announceTo({ changes, log }: Pick<Door, 'changes' | 'log'>, owner: string, server: Server) {
  const quietly = (sent: Promise<void>) =>
    void sent.catch((error: unknown) => log('debug', 'mcp.unannounced', { name: (error as Error).name }));
  return changes.subscribe(owner, {
    toolsChanged: () => quietly(server.sendToolListChanged()),
    resourcesChanged: () => quietly(server.sendResourceListChanged()),
  });
}
