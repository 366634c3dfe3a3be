import { CodedError } from '../core/coded-error.ts';
import { type DaemonFacts, forgetDaemon, readDaemon, writeDaemon } from './daemon-facts.ts';
import { isBusy, storeErrorOf } from './fault-of.ts';
import { takeLock } from './presence.ts';
import { prepareDatabaseFile, prepareStateDir } from './state-dir.ts';

/*
 * The single daemon slot of a state directory. The holder of the lock serves; `daemon.json` beside it names the holder.
 */

type DaemonLock = {
  readonly announce: (facts: DaemonFacts) => void;
  readonly close: () => void;
};

const LOCK = 'daemon.lock';

/** Takes the slot, or refuses and names its holder. */
export function lockDaemon(directory: string): DaemonLock {
  prepareStateDir(directory);
  const lock = hold(directory);
  return {
    announce: (facts) => writeDaemon(directory, facts),
    close: () => {
      forgetDaemon(directory);
      lock.close();
    },
  };
}

function hold(directory: string): ReturnType<typeof takeLock> {
  const path = prepareDatabaseFile(directory, LOCK);
  try {
    return takeLock(path);
  } catch (error) {
    if (isBusy(error)) throw alreadyServed(directory);
    throw storeErrorOf(error, `lock "${path}"`);
  }
}

function alreadyServed(directory: string): CodedError {
  const facts = readDaemon(directory);
  const who = facts === null ? 'another process does' : `process ${facts.pid} does at ${facts.url}`;
  const message = `Cannot serve "${directory}": ${who}, expected one at most`;
  if (facts === null) return new CodedError('door/already-serving', message);
  return new CodedError('door/already-serving', message, {
    remedy: `Stop it with \`kill ${facts.pid}\`, or choose another directory with --state.`,
  });
}
