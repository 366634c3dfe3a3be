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
import { orElse } from '../../core/or-else.ts';

/** All operations on a cgroup file system; no other file of this folder touches one. */
export type GroupFiles = {
  /** The contents of a file; null when it does not exist or cannot be read. */
  readonly read: (path: string) => string | null;
  /** Passes the text to the kernel in one write; never creates a file. */
  readonly write: (path: string, text: string) => void;
  /** A descriptor for writing that programs we start do not inherit by accident. */
  readonly open: (path: string) => number;
  readonly close: (descriptor: number) => void;
  readonly makeDirectory: (path: string) => void;
  readonly removeDirectory: (path: string) => void;
  /** The names of the subdirectories of a directory; none when it cannot be read. */
  readonly directories: (path: string) => string[];
};

// Boundary: the kernel makes no links among the files of a group, so none is ever followed. Node adds O_CLOEXEC.
const FOR_READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOR_WRITING = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The files of this machine. */
export const machineFiles: GroupFiles = {
  read: (path) =>
    orElse(() => withDescriptor(path, FOR_READING, (descriptor) => readFileSync(descriptor, 'utf8')), null),
  write: (path, text) => withDescriptor(path, FOR_WRITING, (descriptor) => writeSync(descriptor, text)),
  open: (path) => openSync(path, FOR_WRITING),
  close: (descriptor) => closeSync(descriptor),
  makeDirectory: (path) => mkdirSync(path, { mode: 0o755 }),
  removeDirectory: (path) => rmdirSync(path),
  directories: (path) => {
    const entries = orElse(() => readdirSync(path, { withFileTypes: true }), []);
    // A link to a directory does not count as a directory.
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
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

/** Removes a directory; returns the errno name on failure, including when it did not exist. */
export function tryRemove(files: GroupFiles, path: string): string | null {
  try {
    files.removeDirectory(path);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}
