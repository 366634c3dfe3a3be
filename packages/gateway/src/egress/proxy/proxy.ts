import type { Server, Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import type { AllowList } from '../allowlist.ts';
import type { ResolveOptions } from '../resolve.ts';
import { newCredentialCheck } from './credential.ts';
import { Exchange } from './exchange.ts';
import { type DecisionRecord, Ledger, type ProxyFacts } from './ledger.ts';
import { fillLimits, type ProxyLimits } from './proxy-limits.ts';
import { formatRefusal } from './refusal.ts';
import { type ProxyRun, serve } from './serve.ts';

/*
 * The HTTP proxy of one run. What comes in is hostile: the clients, the names they ask for, the targets that answer. A
 * connection carries one request, CONNECT or a plain one in absolute form; it is read by a parser that repairs nothing,
 * must carry the token of the run, is decided on by the allow-list before any name is looked up, and goes to an address
 * that was checked. Whatever is wrong with one connection ends that connection and no other. This room never follows a
 * redirect, never looks into a tunnel, never reads a file, and never keeps a connection for a second request.
 */

export type ProxyOptions = {
  /** The list of this moment; after a change, `recheck` applies it to what is open. */
  readonly list: () => AllowList;
  readonly resolve: Omit<ResolveOptions, 'signal'>;
  /** The token of the run: its clients send `run:TOKEN` as basic credentials. */
  readonly credential: string;
  readonly limits?: Partial<ProxyLimits>;
  readonly clock: Clock;
  readonly onDecision?: (record: DecisionRecord) => void;
};

export type Proxy = {
  /** Takes over a connection that a client of the run made. */
  readonly accept: (socket: Socket) => void;
  /** Takes over a listening socket: all its connections, and its end. */
  readonly listen: (server: Server) => void;
  /** Cuts what the list of this moment does not allow. */
  readonly recheck: () => void;
  readonly facts: () => ProxyFacts;
  /** Ends every connection and every listening socket; nothing is accepted afterwards. The facts stay. */
  readonly close: () => void;
};

/** Opens the proxy of one run. It shares nothing with the proxy of any other. */
export function openProxy(options: ProxyOptions): Proxy {
  const limits = fillLimits(options.limits ?? {});
  const ledger = new Ledger({ limits, clock: options.clock, onDecision: options.onDecision });
  const isOfRun = newCredentialCheck(options.credential);
  const run: ProxyRun = { list: options.list, resolve: options.resolve, isOfRun, limits, ledger };
  const open = new Set<Exchange>();
  const servers = new Set<Server>();
  let isClosed = false;

  const accept = (client: Socket) => {
    // A socket that is gone already would never say so again.
    if (isClosed || client.destroyed) {
      client.destroy();
      return;
    }
    // Boundary: who opens more than the limit is answered at once and holds nothing.
    const refused = ledger.admitConnection(open.size);
    if (refused !== null) {
      client.on('error', () => {});
      client.end(formatRefusal(refused), () => client.destroy());
      return;
    }
    const exchange = new Exchange({ client, ledger, limits, onGone: () => open.delete(exchange) });
    open.add(exchange);
    serve(exchange, run).catch(() => {
      ledger.counts.faults += 1;
      exchange.cut('Cannot go on: the proxy made a mistake');
    });
  };

  return {
    accept,
    listen: (server) => {
      servers.add(server);
      server.on('connection', accept);
    },
    recheck: () => {
      const list = options.list();
      for (const exchange of open) exchange.recheck(list, options.resolve.own);
    },
    facts: () => ledger.facts(),
    close: () => {
      isClosed = true;
      for (const server of servers) server.close();
      for (const exchange of open) {
        exchange.cut('Cannot go on: the run has ended');
        exchange.destroy();
      }
    },
  };
}
