import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { Log } from '../../../src/core/log.ts';
import type { Edge } from '../../../src/doors/cli/verb.ts';
import { openDaemon } from '../../../src/doors/http/open-daemon.ts';
import type { Gateway, Opened } from '../../../src/invoke/gateway.ts';
import { type OpenOptions, openGateway, systemClock, systemRandom } from '../../../src/open.ts';
import { CHECKED } from '../../fixture/checked.ts';
import { PERMIT_ALL } from '../../fixture/gateway.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { type Ran, runInside } from './fake-edge.ts';

/* Commands and a daemon on one state directory, inside one process. How often a command opened a gateway tells who ran. */

const env = readEnvironment({}, { username: 'ada', homedir: '/nowhere' });

/** Opens the daemon; closed with the test. */
export async function openSetup({ toml = '', cwd = '', policies = PERMIT_ALL } = {}) {
  const stateDir = join(tempDir(), 'state');
  const work = tempDir();
  writeFileSync(join(work, 'Makefile'), '');
  mkdirSync(join(stateDir, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(stateDir, 'policies', 'all.cedar'), policies);
  writeFileSync(join(stateDir, 'palisade.toml'), toml.replaceAll('WORK', work));
  const options = { stateDir, env, version: '0.0.0', checked: CHECKED };
  const served: { gateway: Opened<Gateway> | null } = { gateway: null };
  const logged: [string, string][] = [];
  const log: Log = (level, event) => void logged.push([level, event]);
  const daemon = await openDaemon({
    ...{ stateDir, config: await loadConfig({ stateDir }), listen: '127.0.0.1:0', version: '0.0.0' },
    ...{ cwd: cwd === '' ? work : cwd, pid: 1, clock: systemClock, log },
    owner: { kind: 'user', name: 'grace' },
    openGateway: async (more) => {
      served.gateway = await openGateway({ ...options, cwd: cwd === '' ? work : cwd, ...more });
      return served.gateway;
    },
  });
  let isClosed = false;
  const close = async () => {
    if (!isClosed) await daemon.close();
    isClosed = true;
  };
  onTestFinished(close);
  const opened = { times: 0 };
  const run = (words: readonly string[], parts: Partial<Edge> = {}): Promise<Ran> =>
    runInside(withFlags(words, ['--state', stateDir]), {
      ...{ env, cwd: work, clock: systemClock, random: systemRandom },
      openGateway: (asked) => {
        opened.times += 1;
        return openGateway({ ...(asked as OpenOptions), checked: CHECKED });
      },
      ...parts,
    });
  const countRunning = () => served.gateway?.running.size;
  return { stateDir, run, opened, close, work, countRunning, logged };
}

/** Flags stand before the words of a command. */
export function withFlags(words: readonly string[], flags: readonly string[]): readonly string[] {
  const end = words.indexOf('--');
  const at = end === -1 ? words.length : end;
  return [...words.slice(0, at), ...flags, ...words.slice(at)];
}
