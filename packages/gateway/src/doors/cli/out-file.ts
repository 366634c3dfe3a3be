import { closeSync, openSync, writeSync } from 'node:fs';
import { textOf, wrongUsage } from './input.ts';
import type { Invocation } from './verb.ts';

/** Writes exact text to --out, or to standard output. Gives the name of the file, or null. */
export async function writeOut(invocation: Invocation, texts: Iterable<string>): Promise<string | null> {
  const path = textOf(invocation, 'out');
  if (path === undefined) {
    for (const text of texts) await invocation.print.exact(text);
    return null;
  }
  let fd: number;
  try {
    fd = openSync(path, 'w', 0o644);
  } catch (error) {
    throw wrongUsage(`Cannot write "${path}": ${(error as Error).message}`);
  }
  try {
    for (const text of texts) writeSync(fd, text);
  } finally {
    closeSync(fd);
  }
  return path;
}
