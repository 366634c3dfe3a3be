import type { Config } from '../../config/config.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Principal } from '../../core/principal.ts';
import { makeAuthenticator } from '../../identity/authenticate.ts';
import type { Gateway, Opened } from '../../invoke/gateway.ts';
import { OPERATIONS } from '../../operations/all.ts';
import { lockDaemon } from '../../store/daemon-lock.ts';
import { Metrics, together } from '../../telemetry/metrics.ts';
import { openTraces } from '../../telemetry/traces.ts';
import type { OpenMore } from '../cli/verb.ts';
import { makeMcp } from '../mcp/index.ts';
import { HttpApp } from './app.ts';
import { type HttpDoor, openHttpDoor } from './listen.ts';
import { socketIn } from './local-client.ts';
import { LocalSessions } from './local-sessions.ts';
import { openApiDocument } from './openapi.ts';
import { findSite, sitePages } from './site.ts';

/*
 * A long-lived gateway: it takes the daemon lock of its state directory, listens, and serves every HTTP door until it
 * is stopped. Then running calls may finish for a while, and the rest are cancelled and recorded.
 */

type DaemonOptions = {
  readonly stateDir: string;
  readonly config: Config;
  /** As `127.0.0.1:7433`, or the descriptor of a socket that listens already. */
  readonly listen: string | number;
  readonly version: string;
  readonly cwd: string;
  /** The person whose process it is. */
  readonly owner: Principal;
  readonly pid: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly openGateway: (more: OpenMore) => Promise<Opened<Gateway>>;
};

export type Daemon = {
  readonly url: string;
  readonly port: number;
  /** Null where the path of the state directory is too long for one. */
  readonly socketPath: string | null;
  readonly close: () => Promise<void>;
};

/** Opens all of it, or nothing. */
export async function openDaemon(options: DaemonOptions): Promise<Daemon> {
  const { stateDir, listen, config, log } = options;
  const undo: Undo[] = [];
  const close = () => undoAll(undo.splice(0).reverse());
  try {
    const lock = lockDaemon(stateDir);
    undo.push(lock.close);
    const socketPath = socketIn(stateDir);
    const door = await openHttpDoor({ listen, socketPath, http: config.http });
    const { metrics, traces, observer } = await openTelemetry(options);
    undo.push(() => traces?.close());
    // No request is being served yet, so there is nothing to wait for.
    const gateway = await openGatewayOr(door, () =>
      options.openGateway({ isLasting: true, observer, log, ports: [door.port] }),
    );
    undo.push(gateway.close);
    serve(door, { ...options, gateway, metrics, undo });
    lock.announce(factsOf(options, door, gateway.workspaces));
    log('info', 'serving', { url: door.url, socket: socketPath, state: stateDir });
    warn(log, door, socketPath);
    return { url: door.url, port: door.port, socketPath, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Undo = () => void | Promise<void> | undefined;

/** A failed step does not prevent the others. */
async function undoAll([act, ...rest]: readonly Undo[]): Promise<void> {
  if (act === undefined) return;
  try {
    await act();
  } finally {
    await undoAll(rest);
  }
}

async function openGatewayOr(door: HttpDoor, open: () => Promise<Opened<Gateway>>): Promise<Opened<Gateway>> {
  try {
    return await open();
  } catch (error) {
    await door.close(0);
    throw error;
  }
}

async function openTelemetry({ clock, version, config }: DaemonOptions) {
  const metrics = new Metrics({ monotonicMs: clock.monotonicMs, version });
  const { otlpEndpoint } = config.telemetry;
  const traces = otlpEndpoint === null ? null : await openTraces(otlpEndpoint, version);
  const observer = together([metrics.observer, ...(traces === null ? [] : [traces.observer])]);
  return { metrics, traces, observer };
}

type Serving = DaemonOptions & {
  readonly gateway: Opened<Gateway>;
  readonly metrics: Metrics;
  readonly undo: Undo[];
};

function serve(door: HttpDoor, { gateway, metrics, undo, log, version, owner }: Serving): void {
  const { config, store: reader, clock } = gateway;
  const mcp = makeMcp({ gateway, log, version });
  const app = new HttpApp({
    gateway,
    log,
    url: config.http.publicUrl?.replace(/\/+$/, '') ?? door.url,
    host: door.host,
    operations: OPERATIONS,
    openApi: JSON.stringify(openApiDocument(OPERATIONS, version)),
    docs: sitePages(findSite()),
    mcp: mcp.fetch,
    authenticate: makeAuthenticator({ reader, config, clock, log }),
    metrics: () => metrics.text(),
    counts: metrics,
  });
  metrics.read(() => gateway.engines.metrics());
  const running = { name: 'palisade_calls_running', help: 'Calls on the line.', kind: 'gauge' } as const;
  metrics.read(() => [{ ...running, value: gateway.running.size }]);
  undo.push(mcp.close);
  undo.push(async () => {
    log('info', 'draining', { calls: gateway.running.size });
    await door.close(config.http.drainMs);
    log('info', 'stopped');
  });
  door.serve(app, new LocalSessions({ gateway, log, version, owner }));
}

const LOOPBACK = /^(127\.|::1$)/;

function warn(log: Log, { host }: HttpDoor, socketPath: string | null): void {
  if (!LOOPBACK.test(host))
    log('warn', 'reachable-from-outside', { host, remedy: 'Put a proxy with TLS in front of it.' });
  if (socketPath === null)
    log('warn', 'no-local-socket', { remedy: 'Choose a state directory with a shorter path.' });
}

function factsOf(
  { pid, version, cwd, clock }: DaemonOptions,
  { url }: HttpDoor,
  { roots, grantedBy }: Gateway['workspaces'],
) {
  const hasWorkspaces = grantedBy === 'process.workspaces';
  return { pid, url, startedAt: isoTime(clock.nowMs()), version, cwd, roots, hasWorkspaces };
}
