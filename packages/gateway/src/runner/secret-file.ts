import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { CodedError } from '../core/coded-error.ts';
import { checkSecretValue } from '../egress/secrets.ts';
import { quote } from './problem.ts';

/*
 * A file with one secret in it. It is the operator's, but what stands in its place may not be: the file is opened once
 * and judged by its descriptor, so that what was judged is what is read. No message has a byte of the content.
 */

const MAX_BYTES = 64 * 1024;
const OTHERS = 0o077;

/** The first line of a file that only the user of the gateway can read; throws a CodedError for any other. */
export function readSecretFile(path: string): string {
  const bytes = readBytes(path);
  if (!isUtf8(bytes)) throw unfit(path, 'it has other bytes', 'UTF-8');
  const [line = ''] = new TextDecoder().decode(bytes).split('\n', 1);
  const value = line.replace(/\r$/, '');
  try {
    checkSecretValue(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [, is, expected] = /: (.*), expected (.*)$/.exec(error.message) ?? [];
    throw unfit(path, is ?? 'its first line cannot be used', expected ?? 'another value');
  }
  return value;
}

function readBytes(path: string): Uint8Array {
  const fd = open(path);
  try {
    const problem = problemIn(fstatSync(fd));
    if (problem !== null) throw unfit(path, ...problem);
    // Boundary: at most one byte more than allowed is ever read, however the file grows.
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (let count = 1; count > 0 && length < buffer.length; length += count) {
      count = readSync(fd, buffer, length, buffer.length - length, null);
    }
    if (length > MAX_BYTES) throw unfit(path, 'it is too large', `at most ${MAX_BYTES} bytes`);
    return buffer.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

function open(path: string): number {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  try {
    // Boundary: a link is not followed, a pipe does not hold us, and a terminal does not become ours.
    return openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    if (error.code === 'ELOOP') throw unfit(path, 'it is a link', 'the file itself');
    throw unfit(path, `it gives ${error.code}`, 'a file that can be read');
  }
}

type Problem = readonly [is: string, expected: string];

/** Boundary: what somebody else owns or can read is no secret, and what somebody else can write is not the operator's. */
function problemIn(stats: Stats): Problem | null {
  if (!stats.isFile()) return ['it is something else', 'a regular file'];
  const user = process.geteuid?.() ?? stats.uid;
  if (stats.uid !== user && stats.uid !== 0)
    return [`it belongs to the user ${stats.uid}`, `one of the user ${user} or of root`];
  if ((stats.mode & OTHERS) === 0) return null;
  return [`its mode is ${(stats.mode & 0o7777).toString(8).padStart(4, '0')}`, '0600 or less'];
}

function unfit(path: string, is: string, expected: string): CodedError {
  return new CodedError(
    'config/invalid',
    `Cannot use the secret file ${quote(path)}: ${is}, expected ${expected}`,
    { remedy: 'Put the value alone into a file of your own with mode 0600, and name it in palisade.toml.' },
  );
}
