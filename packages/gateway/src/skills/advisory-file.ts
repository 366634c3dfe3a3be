import { readFileSync, statSync } from 'node:fs';
import { CodedError } from '../core/coded-error.ts';
import { type Advisory, parseAdvisories } from './audit/advisories.ts';

const MOST_BYTES = 256 * 1024 * 1024;

/** Reads the advisories of the operator, again whenever the file has changed; without a file there are none. */
export function advisoryFile(path: string | null): () => readonly Advisory[] {
  if (path === null) return () => [];
  let known: { readonly stamp: string; readonly advisories: readonly Advisory[] } | null = null;
  return () => {
    const stamp = stampOf(path);
    if (known?.stamp !== stamp) known = { stamp, advisories: parseAdvisories(readFileSync(path)) };
    return known.advisories;
  };
}

/** Boundary: a file that the operator named and that is not there is no file without advisories. */
function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    if (size <= MOST_BYTES) return `${ino}:${mtimeMs}:${size}`;
    throw unreadable(path, `it has ${size} bytes, expected at most ${MOST_BYTES}`);
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw unreadable(path, `it gives ${(error as { code?: string }).code}, expected a file that can be read`);
  }
}

function unreadable(path: string, why: string): CodedError {
  return new CodedError('config/invalid', `Cannot read the advisories "${path}": ${why}`, {
    remedy: 'Correct `skills.advisories` in palisade.toml, or put the file there.',
  });
}
