import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Environment } from '../../../config/environment.ts';
import { wrongUsage } from '../input.ts';
import type { Client, Platform, Scope, Spot } from './client.ts';

/* Where the files of clients are on this machine, for this user and this folder. Looks whether they are there; reads none. */

export type Surroundings = {
  readonly env: Environment;
  readonly cwd: string;
  readonly platform: Platform;
};

/** The platform whose places count; an unknown one has those of Linux. */
export function platformOf(name: string): Platform {
  return name === 'darwin' || name === 'win32' ? name : 'linux';
}

/** The file of a client: that of the project or of the user; of several, the first that is there. */
export function fileOf(client: Client, scope: Scope, here: Surroundings): string {
  if (scope === 'project') {
    if (client.project !== null) return join(here.cwd, client.project);
    throw wrongUsage(
      `Cannot use --project with ${client.id}: ${client.name} has no file for a project, expected no --project`,
    );
  }
  const paths = client.user[here.platform].map((spot) => pathOf(spot, here));
  const [first = ''] = paths;
  return paths.find((path) => existsSync(path)) ?? first;
}

/** Whether something of the client is on this machine. An empty folder is nothing: `disconnect` leaves one behind. */
export function isFound(client: Client, here: Surroundings): boolean {
  return client.signs.some((spot) => {
    const path = pathOf(spot, here);
    return existsSync(path) && !isEmptyFolder(path);
  });
}

function isEmptyFolder(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch {
    return false;
  }
}

function pathOf({ from, path }: Spot, { env, platform }: Surroundings): string {
  if (env.home === null)
    throw wrongUsage('Cannot find the files of clients: there is no home directory, expected HOME or --file');
  const home = resolve(env.home);
  const named = (name: string): string | null => {
    const value = env.entries().find(([key]) => key === name)?.[1];
    return value !== undefined && isAbsolute(value) ? value : null;
  };
  const config = named('XDG_CONFIG_HOME') ?? join(home, '.config');
  const roots = {
    home,
    config,
    app: {
      linux: config,
      darwin: join(home, 'Library', 'Application Support'),
      win32: named('APPDATA') ?? join(home, 'AppData', 'Roaming'),
    }[platform],
  };
  return join(roots[from], path);
}
