import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { digestBytes } from '../core/digest.ts';
import { storeErrorOf } from '../store/fault-of.ts';
import type { ChannelName } from './carrier.ts';

/*
 * The folder `channels` of a state directory: a socket `ID.sock` for each process that listens, and a file `CHANNEL/ID`
 * for each channel that it has subscribers on.
 */

const FOLDER = 'channels';
const SUFFIX = '.sock';
/** The longest path of a local socket, on every system. */
const MOST_PATH_BYTES = 103;
const SUBJECT_CHARS = 32;
/** Another process may remove the folder of a channel that became empty at that moment. */
const MOST_ATTEMPTS = 8;

export class ChannelFolder {
  readonly path: string;
  #descriptor: number | null = null;

  constructor(directory: string) {
    this.path = join(directory, FOLDER);
  }

  /** The processes with a file for that channel. */
  listening(subject: string): readonly string[] {
    return namesIn(join(this.path, subject));
  }

  /** The processes that have a socket. */
  processes(): readonly string[] {
    return namesIn(this.path).flatMap((name) =>
      name.endsWith(SUFFIX) ? [name.slice(0, -SUFFIX.length)] : [],
    );
  }

  /** The channels that some process has a file for. */
  subjects(): readonly string[] {
    return namesIn(this.path).filter((name) => !name.endsWith(SUFFIX));
  }

  mark(subject: string, id: string): void {
    const folder = join(this.path, subject);
    for (let attempt = 1; ; attempt++) {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(join(folder, id), '', { mode: 0o600 });
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== 'ENOENT' || attempt >= MOST_ATTEMPTS) throw error;
      }
    }
  }

  unmark(subject: string, id: string): void {
    const folder = join(this.path, subject);
    rmSync(join(folder, id), { force: true });
    try {
      rmdirSync(folder);
    } catch {
      // Other processes have subscribers on it.
    }
  }

  /** Removes all that is of a process. */
  forget(id: string): void {
    rmSync(this.socketOf(id), { force: true });
    for (const subject of this.subjects()) this.unmark(subject, id);
  }

  /** The socket of a process; where its path would be too long, by the open folder. */
  socketOf(id: string): string {
    const path = join(this.path, `${id}${SUFFIX}`);
    if (Buffer.byteLength(path) <= MOST_PATH_BYTES) return path;
    if (process.platform !== 'linux') throw tooLong(this.path);
    this.#descriptor ??= openSync(this.path, constants.O_RDONLY | constants.O_DIRECTORY);
    return `/proc/self/fd/${this.#descriptor}/${id}${SUFFIX}`;
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}

/** The name of a channel in the folder; names of tenants and channels are no paths, and do not have to fit one. */
export function subjectOf({ tenant, channel }: ChannelName): string {
  return digestBytes(JSON.stringify([tenant, channel])).slice(0, SUBJECT_CHARS);
}

/** What is in a folder; nothing where it does not exist. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw storeErrorOf(error, `read "${folder}"`);
  }
}

function tooLong(folder: string): CodedError {
  const message = `Cannot listen in "${folder}": its path is too long for a socket`;
  return new CodedError('store/unwritable', message, {
    remedy: 'Choose a state directory with a shorter path with --state.',
  });
}
