import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { writeWhole } from '../../../store/whole-file.ts';
import { parsedOf, textOf, wrongUsage } from '../input.ts';
import { ownerOf } from '../marks.ts';
import type { Invocation } from '../verb.ts';
import type { Scope } from './directives.table.ts';
import type { ManagerName } from './manager.ts';
import type { PlannedFile } from './units.ts';

/* Where the files of a service are on this machine or below --root, and whose they are. */

export type ServicePlace = {
  readonly manager: ManagerName;
  readonly scope: Scope;
  /** Where packagers collect the files of a package; null: on this machine. */
  readonly root: string | null;
  readonly folder: string;
};

/** A file of the service: as it should be where that is known, and as it is. */
export type FoundFile = { readonly path: string; readonly state: 'missing' | 'ours' | 'edited' | 'other' };

/** Reads the flags: which manager, for whom, and where. */
export function placeOfService(invocation: Invocation): ServicePlace {
  const { flags, edge } = invocation;
  const isRoot = process.getuid?.() === 0;
  if (flags.user === true && flags.system === true)
    throw wrongUsage('Cannot use --user with --system: each names a service, expected one of them');
  const usual: ManagerName = process.platform === 'darwin' ? 'launchd' : 'systemd';
  const asManager = (raw: string): ManagerName | null =>
    raw === 'systemd' || raw === 'launchd' ? raw : null;
  const manager = parsedOf(invocation, 'manager', asManager, 'systemd or launchd') ?? usual;
  if (process.platform === 'win32')
    throw new CodedError(
      'door/wrong-usage',
      'Cannot install a service: Windows has neither systemd nor launchd',
      {
        remedy: 'Start `palisade serve` by the task scheduler, or use Palisade in WSL.',
      },
    );
  const scope: Scope =
    flags.system === true || (flags.user !== true && isRoot && manager === 'systemd') ? 'system' : 'user';
  if (manager === 'launchd' && scope === 'system')
    throw wrongUsage(
      'Cannot install a system service of launchd: it is not supported, expected --user',
      'Install it with --user for each user who needs it.',
    );
  const named = textOf(invocation, 'root');
  const root = named === undefined ? null : resolve(edge.cwd, named);
  if (root === null && scope === 'system' && !isRoot)
    throw wrongUsage(
      'Cannot manage the system service: this is not root, expected root or --user',
      'Run it with sudo, or use --user for a service of your own.',
    );
  return { manager, scope, root, folder: folderOf(invocation, manager, scope, root) };
}

function folderOf({ edge }: Invocation, manager: ManagerName, scope: Scope, root: string | null): string {
  if (manager === 'launchd')
    return join(root ?? '/', root === null ? homeOf(edge.env.home) : '', 'Library/LaunchAgents');
  // Packages leave /etc to the administrator.
  if (root !== null) return join(root, 'usr/lib/systemd', scope);
  if (scope === 'system') return '/etc/systemd/system';
  const config = edge.env.entries().find(([name]) => name === 'XDG_CONFIG_HOME')?.[1];
  const base = config !== undefined && isAbsolute(config) ? config : join(homeOf(edge.env.home), '.config');
  return join(base, 'systemd/user');
}

function homeOf(home: string | null): string {
  if (home !== null) return home;
  throw wrongUsage(
    'Cannot find the folder of services: there is no home directory, expected HOME or --root DIR',
  );
}

/** What is at a path now. Boundary: a link is of another, and is neither followed nor replaced. */
export function look(path: string): FoundFile {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return { path, state: 'missing' };
  return { path, state: status.isFile() ? ownerOf(readFileSync(path, 'utf8')) : 'other' };
}

export function write({ path, text, mode }: PlannedFile): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    writeWhole(dirname(path), basename(path), text, mode);
  } catch (error) {
    throw cannot('write', path, error);
  }
}

export function remove(path: string): void {
  try {
    if (existsSync(path)) rmSync(path);
  } catch (error) {
    throw cannot('remove', path, error);
  }
}

function cannot(act: string, path: string, error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return error;
  return wrongUsage(
    `Cannot ${act} "${path}": it gives ${code}, expected a folder that this user may write to`,
  );
}
