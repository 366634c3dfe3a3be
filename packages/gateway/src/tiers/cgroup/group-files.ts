import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeSync,
} from 'node:fs';

/** The few things that are done to a cgroup file system; no other file of this folder touches one. */
export type GroupFiles = {
  /** What is in a file; null when it is not there or cannot be read. */
  readonly read: (path: string) => string | null;
  /** Hands the text to the kernel in one write; never makes a file. */
  readonly write: (path: string, text: string) => void;
  /** A descriptor for writing that programs we start do not inherit by accident. */
  readonly open: (path: string) => number;
  readonly close: (descriptor: number) => void;
  readonly makeDirectory: (path: string) => void;
  readonly removeDirectory: (path: string) => void;
  /** The names of the directories in a directory; none when it cannot be read. */
  readonly directories: (path: string) => string[];
};

// Boundary: a link among the files of a group is none of the kernel's, so it is never followed. Node adds O_CLOEXEC.
const FOR_READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOR_WRITING = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The files of this machine. */
export const machineFiles: GroupFiles = {
  read: (path) => {
    try {
      return withDescriptor(path, FOR_READING, (descriptor) => readFileSync(descriptor, 'utf8'));
    } catch {
      return null;
    }
  },
  write: (path, text) => withDescriptor(path, FOR_WRITING, (descriptor) => writeSync(descriptor, text)),
  open: (path) => openSync(path, FOR_WRITING),
  close: (descriptor) => closeSync(descriptor),
  makeDirectory: (path) => mkdirSync(path, { mode: 0o755 }),
  removeDirectory: (path) => rmdirSync(path),
  directories: (path) => {
    try {
      // A link to a directory is no directory here.
      return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? [entry.name] : [],
      );
    } catch {
      return [];
    }
  },
};

function withDescriptor<T>(path: string, flags: number, use: (descriptor: number) => T): T {
  const descriptor = openSync(path, flags);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The errno name of a failed operation, else its message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.message;
}

/** Removes a directory; gives the errno name when it is still there, or was not. */
export function tryRemove(files: GroupFiles, path: string): string | null {
  try {
    files.removeDirectory(path);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}
