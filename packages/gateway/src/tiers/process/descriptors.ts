import { closeSync, constants, openSync } from 'node:fs';
import { CodedError } from '../../core/coded-error.ts';
import type { Descriptor } from '../child/child.ts';
import { MAX_STATUS_BYTES } from '../child/status.ts';
import type { Role } from './plan.ts';

/** What the roles of a plan are filled with. */
export type Sources = {
  readonly args: readonly string[];
  readonly workspaceFd: number;
  readonly launcher: string;
  readonly cgroupFds: readonly number[];
};

export type OpenDescriptors = {
  readonly descriptors: readonly Descriptor[];
  /** Which of all descriptors takes the words of the launcher inside; -1 where there is none. */
  readonly wordsIndex: number;
  readonly close: () => void;
};

/** Opens what the roles need, or refuses and leaves nothing open. */
export function openDescriptors(roles: readonly Role[], sources: Sources): OpenDescriptors {
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const fd = openSync(path, flags);
    opened.push(fd);
    return { kind: 'open', fd } as const;
  };
  const close = () => {
    for (const fd of opened.splice(0)) closeSync(fd);
  };
  try {
    const descriptors = roles.map((role) => descriptorOf(role, sources, open));
    const wordsIndex = roles.findIndex(({ role }) => role === 'words');
    return { descriptors, wordsIndex, close };
  } catch (error) {
    close();
    if (error instanceof CodedError || error instanceof TypeError) throw error;
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'an error';
    throw new CodedError('tier/unenforceable', `Cannot open what the run needs: the system says ${reason}`);
  }
}

function descriptorOf(
  role: Role,
  sources: Sources,
  open: (path: string, flags: number) => { readonly kind: 'open'; readonly fd: number },
): Descriptor {
  switch (role.role) {
    case 'args':
      return { kind: 'bytes', bytes: Buffer.from(sources.args.map((word) => `${word}\0`).join('')) };
    case 'seccomp':
      return { kind: 'bytes', bytes: role.bytes };
    case 'bytes':
      return { kind: 'bytes', bytes: Buffer.from(role.text) };
    case 'status':
      return { kind: 'read', maxBytes: MAX_STATUS_BYTES };
    case 'control':
      return { kind: 'hold' };
    case 'words':
      return { kind: 'later' };
    case 'handles':
      return { kind: 'handles', count: role.count };
    case 'stream':
      return { kind: 'stream', way: role.way };
    case 'workspace':
      return { kind: 'open', fd: sources.workspaceFd };
    case 'launcher':
      return open(sources.launcher, constants.O_RDONLY | constants.O_NOFOLLOW);
    case 'cgroup':
      return { kind: 'open', fd: groupFd(sources, role.index), writes: true };
    case 'map': {
      const { uid, gid, owner } = role.asRoot;
      return { kind: 'map', owner, uid, gid };
    }
    case 'pinned':
    case 'protected':
      return openInside(sources.workspaceFd, role.path, open);
  }
}

/**
 * Opens a path below the held directory, a part at a time. Boundary: a link on the way is the run's to have planted, and
 * none is followed.
 */
function openInside(
  workspaceFd: number,
  path: string,
  open: (path: string, flags: number) => { readonly kind: 'open'; readonly fd: number },
): Descriptor {
  const parts = path.split('/');
  try {
    if (parts.some((part) => ['', '.', '..'].includes(part))) throw new TypeError('no plain path');
    return parts.reduce<{ readonly kind: 'open'; readonly fd: number }>(
      (at, part, index) => {
        const onTheWay = index < parts.length - 1 ? constants.O_DIRECTORY : 0;
        return open(
          `/proc/self/fd/${at.fd}/${part}`,
          constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | onTheWay,
        );
      },
      { kind: 'open', fd: workspaceFd },
    );
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'an error';
    throw new CodedError(
      'tier/unenforceable',
      `Cannot protect "${path}": opening it gives ${reason}, expected a file or directory with no link on the way`,
    );
  }
}

function groupFd({ cgroupFds }: Sources, index: number): number {
  const fd = cgroupFds[index];
  if (fd === undefined) throw new TypeError(`Cannot join group ${index}: there are ${cgroupFds.length}`);
  return fd;
}
