import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_FILE } from '../../config/environment.ts';
import { type DaemonFacts, readDaemon } from '../../store/daemon-facts.ts';
import type { Invocation } from './verb.ts';

/** A daemon of this version that serves the state directory with the current settings, and where it listens. */
export type FoundDaemon = { readonly facts: DaemonFacts; readonly socketPath: string };

/** The daemon that would do the same as this process; null where there is none, with a note if its settings are old. */
export async function findDaemon({ stateDir, flags, print, edge }: Invocation): Promise<FoundDaemon | null> {
  // What is granted on this command line is not granted to the daemon.
  const isGranting = flags['read-only'] !== undefined || flags['tool-homes'] !== undefined;
  if (flags.embedded === true || isGranting) return null;
  const facts = readDaemon(stateDir.path);
  if (facts === null || facts.version !== edge.version) return null;
  const { socketIn } = await import('../http/local-client.ts');
  const socketPath = socketIn(stateDir.path);
  if (socketPath === null || !existsSync(socketPath)) return null;
  const settings = statSync(join(stateDir.path, CONFIG_FILE), { throwIfNoEntry: false });
  if (settings === undefined || settings.mtimeMs <= Date.parse(facts.startedAt)) return { facts, socketPath };
  print.note(
    'palisade.toml changed after `palisade serve` was started, so the daemon is not used.',
    'yellow',
    ' Restart it to use the new settings.',
  );
  return null;
}
