import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Scope } from './directives.table.ts';
import { LAUNCHD_LABEL, SERVICE, SOCKET } from './units.ts';

/* What is asked of the manager of services: fixed words, no shell. Where none runs, the commands are named instead. */

export type ManagerName = 'systemd' | 'launchd';
export type Asked = { readonly ok: boolean; readonly output: string };
export type Manager = {
  readonly isRunning: boolean;
  readonly ask: (words: readonly string[]) => Promise<Asked>;
};

const LONGEST_MS = 120_000;

/** The commands that make the manager read the files and start the service, in this order. */
export function startWords(
  name: ManagerName,
  scope: Scope,
  file: string,
  uid: number,
): readonly (readonly string[])[] {
  if (name === 'launchd') return [['launchctl', 'bootstrap', `gui/${uid}`, file]];
  const ctl = scope === 'user' ? ['systemctl', '--user'] : ['systemctl'];
  const user = scope === 'system' ? [['systemd-sysusers', 'palisade.conf']] : [];
  return [...user, [...ctl, 'daemon-reload'], [...ctl, 'enable', '--now', SOCKET, SERVICE]];
}

/** The commands that stop it, before the files are removed; after that, the manager reads its files again. */
export function stopWords(name: ManagerName, scope: Scope, uid: number): readonly (readonly string[])[] {
  if (name === 'launchd') return [['launchctl', 'bootout', `gui/${uid}/${LAUNCHD_LABEL}`]];
  const ctl = scope === 'user' ? ['systemctl', '--user'] : ['systemctl'];
  return [[...ctl, 'disable', '--now', SOCKET, SERVICE]];
}

export function reloadWords(name: ManagerName, scope: Scope): readonly (readonly string[])[] {
  if (name === 'launchd') return [];
  return [[...(scope === 'user' ? ['systemctl', '--user'] : ['systemctl']), 'daemon-reload']];
}

/** The manager of this machine. */
export function managerOf(name: ManagerName, scope: Scope, runtimeDir: string | null): Manager {
  const isRunning =
    name === 'launchd'
      ? process.platform === 'darwin'
      : existsSync(scope === 'system' ? '/run/systemd/system' : `${runtimeDir ?? '/nonexistent'}/systemd`);
  return { isRunning, ask };
}

function ask([program = '', ...args]: readonly string[]): Promise<Asked> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: LONGEST_MS }, (error, stdout, stderr) =>
      resolve({
        ok: error === null,
        output: `${stdout}${stderr}${error?.code === 'ENOENT' ? `${program}: not found` : ''}`,
      }),
    );
  });
}
