/** The workspace of a run, held open from its check to its end: what happens to its path meanwhile has no effect. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync } from 'node:fs';
import { CodedError } from '../../core/coded-error.ts';

export type HeldWorkspace = {
  readonly fd: number;
  /** Tells it from every other directory that is there at the same time. */
  readonly identity: string;
  readonly owner: { readonly uid: number; readonly gid: number };
  /** The path leads to the held directory. */
  readonly isInPlace: () => boolean;
  readonly close: () => void;
};

/** Opens the very directory that was judged, or refuses; `path` is canonical. */
export function holdWorkspace(path: string): HeldWorkspace {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    throw gone(path, error instanceof Error && 'code' in error ? String(error.code) : 'an error');
  }
  try {
    // Boundary: a link that was put in the place of a directory on the way leads elsewhere, and this says where.
    const reached = readlinkSync(`/proc/self/fd/${fd}`);
    if (reached !== path) throw gone(path, 'another directory');
    const { uid, gid, dev, ino } = fstatSync(fd, { bigint: true });
    const isInPlace = () => {
      const now = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      return now?.dev === dev && now.ino === ino;
    };
    return {
      fd,
      identity: `${dev}:${ino}`,
      owner: { uid: Number(uid), gid: Number(gid) },
      isInPlace,
      close: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function gone(path: string, what: string): CodedError {
  const message = `Cannot open the workspace: "${path}" gives ${what}, expected the directory that was judged`;
  return new CodedError('runner/invalid-workspace', message);
}
