import { closeSync, constants, openSync } from 'node:fs';
import { CodedError } from '../../core/coded-error.ts';
import type { Descriptor, OpenDescriptor } from '../child/child.ts';

/** The values behind the named descriptors of a plan. */
export type Sources = {
  readonly args: readonly string[];
  readonly workspaceFd: number;
  readonly launcher: string;
  readonly cgroupFds: readonly number[];
};

type OpenDescriptors = {
  readonly descriptors: readonly OpenDescriptor[];
  /** The index of the descriptor for the arguments of the launcher inside; -1 where there is none. */
  readonly wordsIndex: number;
  readonly close: () => void;
};

/** Opens what the plan refers to by name, or refuses and leaves nothing open. */
export function openDescriptors(planned: readonly Descriptor[], sources: Sources): OpenDescriptors {
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const fd = openSync(path, flags);
    opened.push(fd);
    return { role: 'open', fd } as const;
  };
  const close = () => {
    for (const fd of opened.splice(0)) closeSync(fd);
  };
  try {
    const descriptors = planned.map((each) => openOne(each, sources, open));
    const wordsIndex = planned.findIndex(({ role }) => role === 'words');
    return { descriptors, wordsIndex, close };
  } catch (error) {
    close();
    if (error instanceof CodedError || error instanceof TypeError) throw error;
    throw new CodedError(
      'tier/unenforceable',
      `Cannot open a file of the run: the system reports ${reasonOf(error)}`,
    );
  }
}

type OpenFile = (path: string, flags: number) => Extract<OpenDescriptor, { role: 'open' }>;

function openOne(descriptor: Descriptor, sources: Sources, open: OpenFile): OpenDescriptor {
  switch (descriptor.role) {
    case 'args':
      return { role: 'bytes', bytes: sources.args.map((word) => `${word}\0`).join('') };
    case 'workspace':
      return { role: 'open', fd: sources.workspaceFd };
    case 'launcher':
      return open(sources.launcher, constants.O_RDONLY | constants.O_NOFOLLOW);
    case 'host-file':
      return open(descriptor.path, constants.O_RDONLY | constants.O_NOFOLLOW);
    case 'cgroup':
      return { role: 'open', fd: groupFd(sources, descriptor.index), writes: true };
    case 'pinned':
    case 'protected':
      return openInside(sources.workspaceFd, descriptor.path, open);
    default:
      return descriptor;
  }
}

/**
 * Opens a path below the held directory, one component at a time. Boundary: the run may have planted a link on the way,
 * so none is followed.
 */
function openInside(workspaceFd: number, path: string, open: OpenFile): OpenDescriptor {
  const parts = path.split('/');
  try {
    if (parts.some((part) => ['', '.', '..'].includes(part))) throw new TypeError('no plain path');
    return parts.reduce<ReturnType<OpenFile>>(
      (at, part, index) => {
        const onTheWay = index < parts.length - 1 ? constants.O_DIRECTORY : 0;
        return open(
          `/proc/self/fd/${at.fd}/${part}`,
          constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | onTheWay,
        );
      },
      { role: 'open', fd: workspaceFd },
    );
  } catch (error) {
    throw new CodedError(
      'tier/unenforceable',
      `Cannot protect "${path}": opening it fails with ${reasonOf(error)}, expected a file or directory with no link on the way`,
    );
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'an error';
}

function groupFd({ cgroupFds }: Sources, index: number): number {
  const fd = cgroupFds[index];
  if (fd === undefined) throw new TypeError(`Cannot join group ${index}: there are ${cgroupFds.length}`);
  return fd;
}
