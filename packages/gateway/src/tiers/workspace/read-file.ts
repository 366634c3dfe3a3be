/** The only way in which the gateway reads a file out of a workspace. */
import { closeSync, fstatSync, readSync } from 'node:fs';
import type { EntryKind } from './entry.ts';
import { HeldDirectory, isSameFile } from './held-directory.ts';
import { nameBytes } from './names.ts';
import { kindOf } from './snapshot.ts';

export type FileRead =
  | { readonly status: 'read'; readonly bytes: Buffer }
  | { readonly status: 'too-large'; readonly size: number }
  /** It, or what should be a directory on the way to it, is something else. */
  | { readonly status: 'refused'; readonly kind: EntryKind | 'moved' }
  | { readonly status: 'missing' }
  | { readonly status: 'unreadable'; readonly code: string };

/**
 * Reads a regular file of at most `maxBytes`. Every name on the way is opened without following a link, nothing but
 * a regular file is opened at all, and nothing that hostile code leaves there can hold the caller or fill its memory.
 */
export function readWorkspaceFile(workspace: string, path: string, maxBytes: number): FileRead {
  const names = path.split('/').map(nameBytes);
  const last = names.pop();
  // Boundary: a path has names only, whichever way they are written, so no step leads up or to the root.
  if (last === undefined || ![...names, last].every(isName)) return { status: 'missing' };
  let directory = HeldDirectory.open(workspace);
  try {
    for (const name of names) {
      const facts = directory.lstat(name);
      if (facts === undefined) return { status: 'missing' };
      if (!facts.isDirectory()) return { status: 'refused', kind: kindOf(facts) };
      const above = directory;
      directory = above.child(name);
      above.close();
    }
    return readFrom(directory, last, maxBytes);
  } catch (error) {
    return statusOf(error);
  } finally {
    directory.close();
  }
}

function isName(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  return !['', '.', '..'].includes(text) && !/[/\0]/.test(text);
}

function readFrom(directory: HeldDirectory, name: Buffer, maxBytes: number): FileRead {
  const seen = directory.lstat(name);
  if (seen === undefined) return { status: 'missing' };
  // Boundary: a device or a pipe is not even opened, for that alone can have an effect.
  if (!seen.isFile()) return { status: 'refused', kind: kindOf(seen) };
  const fd = directory.openFile(name);
  try {
    const facts = fstatSync(fd, { bigint: true });
    // Boundary: what was put in its place after the look is not what was asked for.
    if (!isSameFile(seen, facts) || !facts.isFile()) return { status: 'refused', kind: 'moved' };
    if (facts.size > BigInt(maxBytes)) return { status: 'too-large', size: Number(facts.size) };
    return readAtMost(fd, maxBytes);
  } finally {
    closeSync(fd);
  }
}

function readAtMost(fd: number, maxBytes: number): FileRead {
  const chunks: Buffer[] = [];
  let length = 0;
  // Boundary: at most one byte more than allowed is ever read, however the file grows.
  while (length <= maxBytes) {
    const chunk = Buffer.alloc(Math.min(64 * 1024, maxBytes + 1 - length));
    const count = readSync(fd, chunk, 0, chunk.length, null);
    if (count === 0) return { status: 'read', bytes: Buffer.concat(chunks) };
    chunks.push(chunk.subarray(0, count));
    length += count;
  }
  return { status: 'too-large', size: length };
}

function statusOf(error: unknown): FileRead {
  const { code } = error as { code?: string };
  if (code === undefined) throw error;
  if (code === 'ENOENT') return { status: 'missing' };
  if (['ELOOP', 'ENOTDIR', 'ENXIO'].includes(code)) return { status: 'refused', kind: 'moved' };
  return { status: 'unreadable', code };
}
