/**
 * The root of a jail as options of bubblewrap, in the order in which they take effect. Everything is mounted into an
 * empty root in memory, the workspace is the last bind, and read-only parts are remounted at the end.
 */
import { posix } from 'node:path';
import type { Refused } from '../../core/outcome.ts';
import { ancestorsOf, isWithin } from '../../core/paths.ts';
import { INNER_WORKSPACE, type ProcessTerms } from '../../core/process.ts';
import type { AddDescriptor } from '../child/child.ts';
import type { NetworkPlan } from '../network/plan.ts';
import { unenforceable } from '../process/plan.ts';
import {
  ETC_BINDS,
  JAIL_HOME,
  JAIL_HOST,
  JAIL_ID,
  JAIL_LAUNCHER,
  JAIL_PLACES,
  JAIL_SHELL,
  JAIL_SHM,
  JAIL_TMP,
  JAIL_USER,
  JAIL_VAR_TMP,
  SYSTEM_ROOTS,
} from './root.table.ts';

/** An existing path of the host, and its target when it is a link. */
export type HostPath = { readonly path: string; readonly linkTo: string | null; readonly isFile?: true };

const PAGE_BYTES = 4096;

/** The system's own directories, read-only, with the links between them as they are on the host. */
export function systemOptions(roots: readonly HostPath[]): readonly string[] {
  return roots.flatMap(({ path, linkTo }) =>
    linkTo === null ? ['--ro-bind', path, path] : ['--symlink', linkTo, path],
  );
}

/** A synthetic /etc, and the few files of the host's that tools need. */
export function etcOptions(
  etc: readonly HostPath[],
  content: EtcContent,
  add: AddDescriptor,
): readonly string[] {
  const made = etcFiles(content).flatMap((file) => fileOptions(file, add));
  const shown = shownEtc(etc, content.sharesNetwork).flatMap((file) => hostFileOptions(file, add));
  return [...made, ...shown];
}

/** The files of the host's /etc that a run sees. */
export function shownEtc(etc: readonly HostPath[], sharesNetwork: boolean): readonly HostPath[] {
  const hidden = ETC_BINDS.filter((row) => !sharesNetwork && row.network === true);
  return etc.filter(({ path }) => !hidden.some((row) => row.path === path));
}

function hostFileOptions({ path, linkTo, isFile }: HostPath, add: AddDescriptor): readonly string[] {
  const target = linkTo === null ? null : posix.resolve(posix.dirname(path), linkTo);
  // A link into /usr remains a link: programs read the name of the time zone from it.
  if (linkTo !== null && ['/usr', '/proc'].some((place) => isWithin(target ?? '', place)))
    return ['--symlink', linkTo, path];
  // A copy is cheaper than a mount.
  if (linkTo === null && isFile === true)
    return ['--perms', '0444', '--file', String(add({ role: 'host-file', path })), path];
  return ['--ro-bind', path, path];
}

/** A synthetic, read-only file. */
export function fileOptions({ path, text }: EtcFile, add: AddDescriptor): readonly string[] {
  return ['--perms', '0444', '--file', String(add({ role: 'bytes', name: path, bytes: text })), path];
}

/** /proc, /dev and the file systems in memory, which together never exceed the memory of the run. */
export function memoryOptions(memoryBytes: number, hidden: readonly HostPath[]): readonly string[] {
  const quarter = Math.max(PAGE_BYTES, Math.floor(memoryBytes / 4 / PAGE_BYTES) * PAGE_BYTES);
  return [
    ...['--proc', '/proc'],
    // A device on a mount without devices: it cannot be opened.
    ...hidden.flatMap(({ path }) => ['--ro-bind', '/dev/null', path]),
    // Boundary: a second protection of the kernel's settings, behind the user that may not write them.
    ...['--remount-ro', '/proc'],
    ...['--dev', '/dev'],
    ...['--perms', '1777', '--size', String(quarter), '--tmpfs', JAIL_SHM],
    ...['--remount-ro', '/dev'],
    ...['--perms', '1777', '--size', String(2 * quarter), '--tmpfs', JAIL_TMP],
    ...['--perms', '0700', '--size', String(quarter), '--tmpfs', JAIL_HOME],
  ];
}

/**
 * A copy of the launcher. Bubblewrap resolves even descriptors to paths and binds those, so a bind would need a
 * launcher that the run's user can reach; a copy needs only the open file.
 */
export function launcherOptions(add: AddDescriptor): readonly string[] {
  return ['--perms', '0555', '--file', String(add({ role: 'launcher' })), JAIL_LAUNCHER];
}

/** Binds of the terms; the workspace is the last one and the only writable one. */
export function bindOptions(
  terms: Pick<ProcessTerms, 'readOnly' | 'protectedPaths'>,
  place: WorkspacePlace,
  add: AddDescriptor,
): readonly string[] {
  const { inside, link } = place;
  return [
    ...listReadOnly(terms.readOnly).flatMap((path) => ['--ro-bind', path, path]),
    ...varTmpOptions([inside, ...terms.readOnly]),
    ...(link === null ? [] : ['--symlink', inside, link]),
    // Boundary: a descriptor of the checked directory, so that replacing it with a link later has no effect.
    ...['--bind-fd', String(add({ role: 'workspace' })), inside],
    ...protectionOptions(terms.protectedPaths, inside, add),
  ];
}

function varTmpOptions(binds: readonly string[]): readonly string[] {
  const isTaken = binds.some((path) => overlap(path, JAIL_VAR_TMP));
  return isTaken ? [] : ['--symlink', JAIL_TMP, JAIL_VAR_TMP];
}

/** The directories above protected paths: a mount point cannot be renamed, so none of them can be moved away. */
export function listPinned(protectedPaths: readonly string[]): readonly string[] {
  const pinned = new Set(protectedPaths.flatMap(ancestorsOf));
  return [...pinned].filter((path) => !protectedPaths.some((other) => isWithin(path, other))).sort();
}

function protectionOptions(
  protectedPaths: readonly string[],
  inside: string,
  add: AddDescriptor,
): readonly string[] {
  const pinned = listPinned(protectedPaths).flatMap((path) => {
    return ['--bind-fd', String(add({ role: 'pinned', path })), `${inside}/${path}`];
  });
  const closed = [...new Set(protectedPaths)].sort().flatMap((path) => {
    return ['--ro-bind-fd', String(add({ role: 'protected', path })), `${inside}/${path}`];
  });
  return [...pinned, ...closed];
}

/** A synthetic file of the jail. */
type EtcFile = { readonly path: string; readonly text: string };

const NOBODY_ID = 65534;

/** What of a run shows in /etc. */
type EtcContent = {
  readonly sharesNetwork: boolean;
  readonly names: NetworkPlan['names'];
  readonly gitIdentity: ProcessTerms['gitIdentity'];
};

/** The /etc of a jail: one user, one group, this host and the names that lead to doors, and no other name service. */
function etcFiles({ sharesNetwork, names, gitIdentity }: EtcContent): readonly EtcFile[] {
  const users = lines(
    'root:x:0:0:root:/nonexistent:/usr/sbin/nologin',
    `${JAIL_USER}:x:${JAIL_ID}:${JAIL_ID}:${JAIL_USER}:${JAIL_HOME}:${JAIL_SHELL}`,
    `nobody:x:${NOBODY_ID}:${NOBODY_ID}:nobody:/nonexistent:/usr/sbin/nologin`,
  );
  const groups = lines('root:x:0:', `${JAIL_USER}:x:${JAIL_ID}:`, `nogroup:x:${NOBODY_ID}:`);
  const ownHost = [`127.0.0.1 localhost ${JAIL_HOST}`, '::1 localhost ip6-localhost ip6-loopback'];
  const doors = names.map(({ address, name }) => `${address} ${name}`);
  const services = ['passwd', 'group', 'shadow', 'services', 'protocols'].map((name) => `${name}: files`);
  // Without name servers, a name that is in no file does not exist; a program that queried them would retry.
  const hosts = sharesNetwork ? 'hosts: files dns' : 'hosts: files';
  return [
    { path: '/etc/passwd', text: users },
    { path: '/etc/group', text: groups },
    { path: '/etc/hosts', text: lines(...ownHost, ...doors) },
    { path: '/etc/nsswitch.conf', text: lines(...services, hosts) },
    { path: '/etc/hostname', text: lines(JAIL_HOST) },
    ...(gitIdentity === null ? [] : [{ path: '/etc/gitconfig', text: gitConfigOf(gitIdentity) }]),
  ];
}

/** In the system's configuration, so that one of the repository, of the home and of `git -c` comes first. */
function gitConfigOf({ name, email }: NonNullable<ProcessTerms['gitIdentity']>): string {
  return lines('[user]', `\tname = ${quoteForGit(name)}`, `\temail = ${quoteForGit(email)}`);
}

function quoteForGit(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}

function lines(...texts: readonly string[]): string {
  return `${texts.join('\n')}\n`;
}

/** The workspace inside: its path, and the link to it where its original path is taken. */
export type WorkspacePlace = { readonly inside: string; readonly link: string | null };

/** Keeps the workspace at its own path, so that messages and build files match on both sides, unless that is taken. */
export function placeWorkspace(workspace: string): WorkspacePlace {
  const taken = [...SYSTEM_ROOTS, ...JAIL_PLACES].some(({ path }) => overlap(path, workspace));
  if (!taken) return { inside: workspace, link: null };
  const linkable = JAIL_PLACES.some(
    ({ path, writable }) => writable === true && isWithin(workspace, path) && workspace !== path,
  );
  return { inside: INNER_WORKSPACE, link: linkable ? workspace : null };
}

/** The path inside of something in the workspace; other paths are unchanged. */
export function moveInside(path: string, workspace: string, inside: string): string {
  return isWithin(path, workspace) ? `${inside}${path.slice(workspace.length)}` : path;
}

/** The read-only paths that need a bind: those that no other bind covers, each once. */
function listReadOnly(readOnly: readonly string[]): readonly string[] {
  const unseen = new Set(readOnly.filter((path) => !isSystem(path)));
  const outermost = [...unseen].filter((path) => !ancestorsOf(path).some((above) => unseen.has(above)));
  return outermost.sort();
}

/** Returns null when every read-only path can be bound at its own path without covering anything. */
export function checkReadOnly(terms: ProcessTerms, inside: string): Refused | null {
  for (const path of listReadOnly(terms.readOnly)) {
    // Boundary: the run could redirect a mount point below a directory that it can write to.
    const home = [terms.workspace, inside].find((place) => isWithin(path, place));
    if (home !== undefined) {
      return unenforceable(
        `Cannot bind "${path}" read-only: it lies in the workspace "${terms.workspace}", expected a path outside`,
        'Name it among the protected paths instead.',
      );
    }
    const place = findCovered(path);
    if (place !== undefined) {
      return unenforceable(
        `Cannot bind "${path}" read-only: it would cover "${place}" of the jail or lie in it, expected another path`,
        'Put what the run must read into a directory of its own and name that.',
      );
    }
  }
  return null;
}

/** Returns null when the executable is visible inside. */
export function checkExecutable({ executable, workspace, readOnly }: ProcessTerms): Refused | null {
  const shown = [workspace, ...readOnly].some((place) => isWithin(executable, place));
  if (shown || isSystem(executable)) return null;
  return unenforceable(
    `Cannot run "${executable}" in a jail: it is outside the sandbox, expected a file in /usr, the workspace or a read-only path`,
    'Add its directory to `process.read_only`; for an upstream server, use `--read-only DIRECTORY`.',
  );
}

function isSystem(path: string): boolean {
  return SYSTEM_ROOTS.some((root) => isWithin(path, root.path));
}

function findCovered(path: string): string | undefined {
  const places = [...SYSTEM_ROOTS, ...JAIL_PLACES].filter((place) => place.path !== '/etc');
  const files = etcFiles({ sharesNetwork: true, names: [], gitIdentity: null });
  // A single file of /etc may be bound beside the synthetic ones.
  const covered = isWithin('/etc', path) ? '/etc' : files.find((file) => overlap(file.path, path))?.path;
  return covered ?? places.find((place) => overlap(place.path, path))?.path;
}

function overlap(one: string, other: string): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

/**
 * A mount point as it appears in the launcher's list. The kernel writes white space and backslashes as \NNN; the
 * launcher then writes backslashes, commas and unprintable characters as \xNN.
 */
export function mountFact(path: string): string {
  return Array.from(Buffer.from(path), (byte) => {
    const sign = String.fromCharCode(byte);
    if (' \t\n\\'.includes(sign)) return `\\x5c${byte.toString(8).padStart(3, '0')}`;
    return /^[!-~]$/.test(sign) && sign !== ',' ? sign : `\\x${byte.toString(16).padStart(2, '0')}`;
  }).join('');
}
