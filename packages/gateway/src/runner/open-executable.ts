import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { CodedError } from '../core/coded-error.ts';
import type { Digest } from '../core/digest.ts';
import { quote } from '../core/hostile-text.ts';
import type { FileDigests } from './file-digests.ts';
import { type FileFacts, factsFrom } from './file-facts.ts';

/** A program file that was opened once, and what was seen through that one descriptor. */
export type OpenedExecutable = {
  readonly facts: FileFacts;
  readonly sha256: Digest;
  /** As many bytes as the kernel looks at to learn how to run it. */
  readonly head: Uint8Array;
};

/** The largest program that is digested before it runs; browsers and language runtimes stay below it. */
const MAX_EXECUTABLE_BYTES = 512n * 1024n * 1024n;
const HEAD_BYTES = 256;

/** Opens a canonical path as a regular, executable file. Facts, head and digest are those of one and the same file. */
export function openExecutable(path: string, digests: FileDigests): OpenedExecutable {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  let fd: number;
  try {
    // Boundary: a pipe does not hold us, a terminal does not become ours, and a link that came since is not followed.
    fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw notFound(path, `it gives ${error.code}, expected a file that can be read`);
  }
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (!stats.isFile()) throw notFound(path, 'it is something else, expected a regular file');
    const facts = factsFrom(path, stats);
    if ((facts.mode & 0o111) === 0)
      throw notFound(path, 'it may not be executed, expected an executable file');
    if (facts.sizeBytes > MAX_EXECUTABLE_BYTES) {
      throw notFound(path, `it has ${facts.sizeBytes} bytes, expected at most ${MAX_EXECUTABLE_BYTES}`);
    }
    const head = Buffer.alloc(HEAD_BYTES);
    const count = readSync(fd, head, 0, HEAD_BYTES, 0);
    return { facts, head: head.subarray(0, count), sha256: digests.of(fd, facts) };
  } finally {
    closeSync(fd);
  }
}

function notFound(path: string, what: string): CodedError {
  return new CodedError('runner/not-found', `Cannot run ${quote(path)}: ${what}`);
}
