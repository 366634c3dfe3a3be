/**
 * The root of a jail as options of bubblewrap, in the order in which they happen. Everything is put into an empty root
 * in memory, the workspace comes last of the binds, and what may not be written is closed at the end.
 */
import { posix } from 'node:path';
import type { ProcessTerms } from '../../core/process.ts';
import { ancestorsOf, isWithin } from '../../core/within.ts';
import type { AsRoot } from '../plan/launcher-words.ts';
import { type EtcFile, type EtcNetwork, etcFiles } from './etc-files.ts';
import { listReadOnly, type WorkspacePlace } from './places.ts';
import { ETC_BINDS, JAIL_HOME, JAIL_LAUNCHER, JAIL_SHM, JAIL_TMP } from './root.table.ts';

/** A path of the host that exists, and what it says when it is a link. */
export type HostPath = { readonly path: string; readonly linkTo: string | null };

/** What a descriptor is for; their numbers are 3, 4, … in the order of the list. */
export type JailDescriptor =
  /** The options of the plan, a NUL after each. */
  | { readonly role: 'args' }
  | { readonly role: 'seccomp'; readonly bytes: Uint8Array }
  /** Where the launcher reports. */
  | { readonly role: 'status' }
  | { readonly role: 'control' }
  /** Where the launcher inside gets its words. */
  | { readonly role: 'words' }
  /** The launcher's file, opened anew for each run: it is read from the descriptor's offset. */
  | { readonly role: 'launcher' }
  | { readonly role: 'bytes'; readonly path: string; readonly text: string }
  /** The open directory of the workspace. */
  | { readonly role: 'workspace' }
  /** A path in the workspace, opened without following a link, or the run is refused. */
  | { readonly role: 'pinned' | 'protected'; readonly path: string }
  | { readonly role: 'cgroup'; readonly index: number }
  | { readonly role: 'stream'; readonly way: 'in' | 'out' }
  /** Where the listeners of its network come from. */
  | { readonly role: 'handles'; readonly count: number }
  /** A user namespace that maps the owner of the workspace to the user of the run. */
  | { readonly role: 'map'; readonly asRoot: AsRoot };

/** Takes the next number for a descriptor. */
export type Allot = (descriptor: JailDescriptor) => number;

const PAGE_BYTES = 4096;

/** The system's own directories, read-only, with the links between them as they are on the host. */
export function systemOptions(roots: readonly HostPath[]): readonly string[] {
  return roots.flatMap(({ path, linkTo }) =>
    linkTo === null ? ['--ro-bind', path, path] : ['--symlink', linkTo, path],
  );
}

/** An /etc that is made up, and the few files of the host's that tools need. */
export function etcOptions(etc: readonly HostPath[], network: EtcNetwork, allot: Allot): readonly string[] {
  const made = etcFiles(network).flatMap((file) => fileOptions(file, allot));
  const shown = ETC_BINDS.filter((row) => network.sharesNetwork || !row.network).map(({ path }) =>
    String(path),
  );
  const bound = etc
    .filter(({ path }) => shown.includes(path))
    // A link into /usr stays one: programs read the name of the time zone from it.
    .flatMap(({ path, linkTo }) =>
      linkTo !== null && isWithin(posix.resolve('/etc', linkTo), '/usr')
        ? ['--symlink', linkTo, path]
        : ['--ro-bind', path, path],
    );
  return [...made, ...bound];
}

/** A file that is made up and cannot be changed. */
export function fileOptions({ path, text }: EtcFile, allot: Allot): readonly string[] {
  return ['--perms', '0444', '--file', String(allot({ role: 'bytes', path, text })), path];
}

/** /proc, /dev and the places in memory, which together never hold more than the memory of the run. */
export function memoryOptions(memoryBytes: number): readonly string[] {
  const quarter = Math.max(PAGE_BYTES, Math.floor(memoryBytes / 4 / PAGE_BYTES) * PAGE_BYTES);
  return [
    ...['--proc', '/proc'],
    // Boundary: a second wall before the settings of the kernel, behind the user that may not write them.
    ...['--remount-ro', '/proc'],
    ...['--dev', '/dev'],
    ...['--perms', '1777', '--size', String(quarter), '--tmpfs', JAIL_SHM],
    ...['--remount-ro', '/dev'],
    ...['--perms', '1777', '--size', String(2 * quarter), '--tmpfs', JAIL_TMP],
    ...['--perms', '0700', '--size', String(quarter), '--tmpfs', JAIL_HOME],
  ];
}

/**
 * A copy of the launcher. Bubblewrap resolves even descriptors to paths and binds those, so a bind would need a launcher
 * that the run's user can walk to; a copy needs only the open file.
 */
export function launcherOptions(allot: Allot): readonly string[] {
  return ['--perms', '0555', '--file', String(allot({ role: 'launcher' })), JAIL_LAUNCHER];
}

/** Binds of the terms; the workspace is the last and the only one that can be written. */
export function bindOptions(terms: ProcessTerms, place: WorkspacePlace, allot: Allot): readonly string[] {
  const { inside, link } = place;
  return [
    ...listReadOnly(terms.readOnly).flatMap((path) => ['--ro-bind', path, path]),
    ...(link === null ? [] : ['--symlink', inside, link]),
    // Boundary: a descriptor of the checked directory, so that a link put in its place later gains nothing.
    ...['--bind-fd', String(allot({ role: 'workspace' })), inside],
    ...protectionOptions(terms.protectedPaths, inside, allot),
  ];
}

/** The directories above protected paths: a mount point cannot be renamed, so none of them can be moved aside. */
export function listPinned(protectedPaths: readonly string[]): readonly string[] {
  const pinned = new Set(protectedPaths.flatMap(ancestorsOf));
  return [...pinned].filter((path) => !protectedPaths.some((other) => isWithin(path, other))).sort();
}

function protectionOptions(
  protectedPaths: readonly string[],
  inside: string,
  allot: Allot,
): readonly string[] {
  const pinned = listPinned(protectedPaths).flatMap((path) => {
    return ['--bind-fd', String(allot({ role: 'pinned', path })), `${inside}/${path}`];
  });
  const closed = [...new Set(protectedPaths)].sort().flatMap((path) => {
    return ['--ro-bind-fd', String(allot({ role: 'protected', path })), `${inside}/${path}`];
  });
  return [...pinned, ...closed];
}
