import { writeSync } from 'node:fs';
import type { ServiceStart } from '../../../config/environment.ts';

/*
 * What a service tells its manager, in the words of sd_notify(3). The launcher has connected the socket, and what is
 * written to it comes from this process. A manager that does not listen any more changes nothing about what is served.
 */

export type ManagerVoice = {
  readonly ready: (status: string) => void;
  readonly stopping: (status: string) => void;
};

/** Tells nothing where there is no manager; once ready, says again and again that this process still answers. */
export function openManager({ notifyFd, watchdogMs }: ServiceStart): ManagerVoice {
  const tell = (...lines: readonly string[]) => {
    if (notifyFd === null) return;
    try {
      writeSync(notifyFd, lines.join('\n'));
    } catch {
      // It is gone, or does not read; the service goes on.
    }
  };
  return {
    ready: (status) => {
      tell('READY=1', `STATUS=${status}`);
      // Twice within the time that the manager waits, as it asks for; until the process ends.
      if (watchdogMs !== null) setInterval(() => tell('WATCHDOG=1'), watchdogMs / 2).unref();
    },
    stopping: (status) => tell('STOPPING=1', `STATUS=${status}`),
  };
}
