import { secretsOf } from '../../../config/environment.ts';
import { loadConfig } from '../../../config/load.ts';
import { makeRedactor } from '../../../core/redact.ts';
import { prepareStateDir } from '../../../store/state-dir.ts';
import { makeLog } from '../../../telemetry/log.ts';
import { type Daemon, openDaemon } from '../../http/open-daemon.ts';
import { textOf, wrongUsage } from '../input.ts';
import { openManager } from '../service/notify.ts';
import type { Invocation } from '../verb.ts';

/*
 * A gateway that runs until Ctrl-C or SIGTERM, after which running calls are finished; a second signal ends it at once.
 * Events are logged to standard error, one line of JSON each.
 */

export async function serve(invocation: Invocation): Promise<number> {
  const { edge, stateDir, signal, openGateway } = invocation;
  const manager = openManager(edge.env.service);
  prepareStateDir(stateDir.path);
  const config = await loadConfig({ stateDir: stateDir.path });
  const redact = makeRedactor(secretsOf(edge.env, config.journal.redactEnv));
  const log = makeLog({
    level: config.log.level,
    clock: edge.clock,
    redact,
    write: (line) => void edge.stderr.write(line),
  });
  const daemon = await openDaemon({
    stateDir: stateDir.path,
    config,
    log,
    openGateway,
    version: edge.version,
    cwd: edge.cwd,
    clock: edge.clock,
    pid: process.pid,
    owner: { kind: 'user', name: edge.env.user ?? 'local' },
    listen: inheritedSocket(invocation) ?? textOf(invocation, 'listen') ?? config.http.listen,
  });
  // Clients are served although no one reads the output.
  edge.whenUnread(() => undefined);
  tell(invocation, daemon);
  manager.ready(`serving ${daemon.url}`);
  await fired(signal);
  manager.stopping('running calls are finished first');
  await daemon.close();
  return 0;
}

/** The first descriptor that a manager of services passes. */
const FIRST_SOCKET = 3;

/** The socket of the socket unit, which wins over the configuration; null where none was passed. */
function inheritedSocket({ edge: { env } }: Invocation): number | null {
  const { sockets } = env.service;
  if (sockets > 1)
    throw wrongUsage(
      `Cannot serve ${sockets} sockets: the socket unit passes more than one, expected one ListenStream=`,
      'Leave one ListenStream= in the socket unit; a proxy can serve further addresses.',
    );
  return sockets === 0 ? null : FIRST_SOCKET;
}

function tell({ print, stateDir, flags }: Invocation, { url, port, socketPath }: Daemon): void {
  const facts = { url, port, socket: socketPath, state: stateDir.path, pid: process.pid };
  if (print.json) print.document(facts);
  else if (flags.quiet !== true) {
    print.styled('green', 'serving', `  ${url}  (state ${stateDir.path})`);
    print.styled('cyan', '→', ' palisade token create --principal agent:NAME --scopes call --expires 30d');
    print.styled('cyan', '→', ` ${url}/docs`);
  }
}

function fired(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
