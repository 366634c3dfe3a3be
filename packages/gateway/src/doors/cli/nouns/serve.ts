import { secretsOf } from '../../../config/environment.ts';
import { loadConfig } from '../../../config/load.ts';
import { makeRedactor } from '../../../core/redact.ts';
import { prepareStateDir } from '../../../store/state-dir.ts';
import { makeLog } from '../../../telemetry/log.ts';
import { type Daemon, openDaemon } from '../../http/open-daemon.ts';
import { textOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

/*
 * A gateway that runs until Ctrl-C or SIGTERM, after which running calls are finished; a second signal ends it at once.
 * Events are logged to standard error, one line of JSON each.
 */

export async function serve(invocation: Invocation): Promise<number> {
  const { edge, stateDir, signal, openGateway } = invocation;
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
    listen: textOf(invocation, 'listen') ?? config.http.listen,
  });
  // Clients are served although no one reads the output.
  edge.whenUnread(() => undefined);
  tell(invocation, daemon);
  await fired(signal);
  await daemon.close();
  return 0;
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
