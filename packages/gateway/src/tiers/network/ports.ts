/**
 * The ports of a run that are reachable from the host. For each there is a listener on loopback of the host, from before
 * the command starts until it has ended; what connects there is joined to a connection that the launcher makes in the
 * network of the run. Nothing is asked for from inside, and nothing but the granted ports is ever connected to. What is
 * forwarded is neither read nor changed: either side can be hostile to the other, and to neither of them is the gateway
 * more than a wire.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { CodedError } from '../../core/coded-error.ts';
import { formatPort, type PortForward, urlOfPort } from '../../core/ports.ts';
import type { AddDescriptor, LiveChild } from '../child/child.ts';

/** Connections of one port at once; further ones are reset. */
const MOST_CONNECTIONS = 1_024;
/** How long connections may outlast their run. */
const LINGER_MS = 1_000;
/** Programs look for "localhost" at both; the second one does not exist on every machine. */
const LOOPBACK = ['127.0.0.1', '::1'] as const;
const NO_SUCH_ADDRESS = ['EADDRNOTAVAIL', 'EAFNOSUPPORT'];

/** What went through a port. */
export type PortFacts = PortForward & {
  readonly connections: number;
  /** From the host to the run. */
  readonly bytesIn: number;
  readonly bytesOut: number;
};

/** The ports of one run. */
export type RunPorts = {
  /** Begins to forward: before that, connections wait. */
  readonly serve: (connect: LiveChild['connect']) => void;
  readonly facts: () => readonly PortFacts[];
  /** Ends the listeners at once, and every connection as soon as its last bytes are delivered. */
  readonly close: () => void;
};

/** The launcher's arguments for ports, and the descriptor over which their connections come. */
export function portWords(ports: readonly PortForward[], add: AddDescriptor): readonly string[] {
  if (ports.length === 0) return [];
  return [...ports.map(({ inside }) => `port=${inside}`), `sockets=${add({ role: 'sockets' })}`];
}

/** Listens on the host for these ports. Throws where one cannot be had; nothing is left open then. */
export async function openPorts(ports: readonly PortForward[]): Promise<RunPorts> {
  const forwards = ports.map((port, index) => new Forward(port, index));
  const close = () => {
    for (const forward of forwards) forward.close();
  };
  try {
    for (const forward of forwards) await forward.listen();
  } catch (error) {
    close();
    throw error;
  }
  return {
    serve: (connect) => {
      for (const forward of forwards) forward.serve(connect);
    },
    facts: () => forwards.map((forward) => forward.facts()),
    close,
  };
}

/** One port from its listeners to their end. */
class Forward {
  readonly #port: PortForward;
  /** The number of the port in the plan of the launcher. */
  readonly #index: number;
  readonly #servers: Server[] = [];
  readonly #open = new Set<Socket>();
  /** Resolves when the run can be connected to. */
  readonly #connect: Promise<LiveChild['connect']>;
  /** Connections into the run, and what went through those that are over. */
  readonly #inner = new Set<Socket>();
  readonly #counts = { connections: 0, bytesIn: 0, bytesOut: 0 };
  serve: (connect: LiveChild['connect']) => void = () => undefined;
  #clients = 0;

  constructor(port: PortForward, index: number) {
    this.#port = port;
    this.#index = index;
    this.#connect = new Promise((resolve) => {
      this.serve = resolve;
    });
  }

  async listen(): Promise<void> {
    for (const address of LOOPBACK) {
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
        void this.#join(client);
      });
      const error = await listenAt(server, this.#port.host, address);
      if (error === null) this.#servers.push(server);
      else if (address === '127.0.0.1' || !NO_SUCH_ADDRESS.includes(error))
        throw unavailable(this.#port, address, error);
    }
  }

  facts(): PortFacts {
    const { connections, bytesIn, bytesOut } = this.#counts;
    const open = [...this.#inner];
    return {
      ...this.#port,
      connections,
      bytesIn: open.reduce((sum, each) => sum + each.bytesWritten, bytesIn),
      bytesOut: open.reduce((sum, each) => sum + each.bytesRead, bytesOut),
    };
  }

  close(): void {
    for (const server of this.#servers) server.close();
    // What the run had sent is still delivered; then nothing of it stays.
    const cut = () => {
      for (const socket of this.#open) reset(socket);
    };
    if (this.#open.size > 0) setTimeout(cut, LINGER_MS).unref();
  }

  /** Connects a client of the host with the run, for as long as either of them sends. */
  async #join(client: Socket): Promise<void> {
    // Boundary: the number of connections is bounded; each holds descriptors and buffers of the gateway.
    if (this.#clients >= MOST_CONNECTIONS) return reset(client);
    this.#clients += 1;
    this.#keep(client);
    client.once('close', () => {
      this.#clients -= 1;
    });
    const connect = await this.#connect;
    const inner = client.destroyed ? null : await connect(this.#index);
    if (inner === null) return reset(client);
    inner.allowHalfOpen = true;
    this.#keep(inner);
    this.#counts.connections += 1;
    this.#inner.add(inner);
    inner.once('close', () => {
      this.#inner.delete(inner);
      this.#counts.bytesIn += inner.bytesWritten;
      this.#counts.bytesOut += inner.bytesRead;
    });
    if (client.destroyed) return reset(inner);
    breakWith(client, inner);
    breakWith(inner, client);
    client.pipe(inner).pipe(client);
  }

  #keep(socket: Socket): void {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }
}

/** A side that breaks off breaks off the other; one that only ends its half leaves the other half to it. */
function breakWith(side: Socket, other: Socket): void {
  side.once('error', () => reset(other));
  side.once('close', () => {
    // What it had sent before is still delivered.
    if (!other.destroyed) other.end();
    other.resume();
  });
}

function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}

function listenAt(server: Server, port: number, host: string): Promise<string | null> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'EINVAL'));
    server.listen({ port, host, exclusive: true, ipv6Only: true }, () => resolve(null));
  });
}

function unavailable(port: PortForward, address: string, error: string): CodedError {
  const at = address.includes(':') ? `[${address}]` : address;
  const why = error === 'EADDRINUSE' ? 'another program or run listens there' : `the system reports ${error}`;
  return new CodedError(
    'tier/not-started',
    `Cannot start command: port ${port.host} of the host is not available at ${at}, as ${why}. End that one, or choose another port of the host, as in --port ${port.host === 8080 ? 8081 : 8080}:${port.inside}`,
  );
}

/** What is told of the ports of a run: to the caller, and in the receipt. */
export function reportPorts(facts: readonly PortFacts[]) {
  if (facts.length === 0) return { output: {}, isolation: {} };
  const sum = (name: 'connections' | 'bytesIn' | 'bytesOut') =>
    facts.reduce((total, each) => total + each[name], 0);
  return {
    output: { ports: facts.map((each) => ({ ...each, url: urlOfPort(each) })) },
    isolation: {
      ports: facts.map(formatPort).join(', '),
      portConnections: sum('connections'),
      portBytesIn: sum('bytesIn'),
      portBytesOut: sum('bytesOut'),
    },
  };
}
