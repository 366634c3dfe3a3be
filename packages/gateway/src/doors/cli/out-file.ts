import {
  closeSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { textOf, wrongUsage } from './input.ts';
import type { Invocation } from './verb.ts';

export type OutFile = { readonly write: (text: string) => void; readonly close: () => void };

/** Opens a file that a flag names; its content stays until the first text is written. */
export function openOut(path: string): OutFile {
  const fd = orWrongUsage(path, () => openSync(path, 'a', 0o644));
  let isUntouched = true;
  const write = (text: string): void => {
    // A pipe or a terminal has nothing to truncate.
    if (isUntouched && fstatSync(fd).isFile()) ftruncateSync(fd);
    isUntouched = false;
    writeFileSync(fd, text);
  };
  return { write: (text) => orWrongUsage(path, () => write(text)), close: () => closeSync(fd) };
}

/** Writes exact text to --out, or to standard output. Gives the name of the file, or null. */
export async function writeOut(
  invocation: Invocation,
  texts: Iterable<string> | AsyncIterable<string>,
): Promise<string | null> {
  const { print } = invocation;
  const path = textOf(invocation, 'out');
  if (path === undefined) {
    for await (const text of texts) await print.exact(text);
    return null;
  }
  let file: OutFile | null = null;
  try {
    for await (const text of texts) {
      // Opened late: where the text cannot be made, the old file stays as it is.
      file ??= openOut(path);
      file.write(text);
    }
  } finally {
    file?.close();
  }
  if (print.json) print.document({ file: path });
  return path;
}

/** Replaces a file: with all bytes or none, so that a reader never finds half a file. */
export function replaceFile(path: string, bytes: Uint8Array): void {
  orWrongUsage(path, () => {
    const old = statSync(path, { throwIfNoEntry: false });
    // A device or a pipe is written to; a rename would replace it.
    if (old !== undefined && !old.isFile()) return writeFileSync(path, bytes);
    // Of a link, the target is replaced; the link stays.
    const target = old === undefined ? path : realpathSync(path);
    const fresh = `${target}.${process.pid}.new`;
    try {
      // Boundary: `wx` follows no link that someone placed there.
      writeFileSync(fresh, bytes, { flag: 'wx', mode: old === undefined ? 0o644 : old.mode & 0o777 });
      renameSync(fresh, target);
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') rmSync(fresh, { force: true });
      throw new Error((error as Error).message.replaceAll(fresh, target));
    }
  });
}

/**
 * Writes a file that only its owner can read, completely or not at all. An existing file is replaced only with
 * `mayReplace`.
 */
export function writePrivateFile(path: string, text: string, mayReplace: boolean): void {
  const old = orWrongUsage(path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (old !== undefined && !mayReplace)
    throw wrongUsage(`Cannot write "${path}": it already exists, expected a new file or --force`);
  if (old !== undefined && !old.isFile())
    throw wrongUsage(`Cannot write "${path}": it is not a regular file`);
  orWrongUsage(path, () => {
    const fresh = `${path}.${process.pid}.new`;
    try {
      // Boundary: `wx` follows no link that someone placed there, and the file gets the mode of a new one.
      writeFileSync(fresh, text, { flag: 'wx', mode: 0o600 });
      // A link fails where the name was taken in the meantime; a rename would replace it.
      if (mayReplace) renameSync(fresh, path);
      else linkSync(fresh, path);
    } finally {
      rmSync(fresh, { force: true });
    }
  });
}

function orWrongUsage<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw wrongUsage(`Cannot write "${path}": ${(error as Error).message}`);
  }
}
