import type { Code } from '@palisade/sdk';
import { CodedError } from '../core/coded-error.ts';

/** Another connection is in the way; SQLITE_PROTOCOL results from many simultaneous openings in write-ahead mode. */
const BUSY = /^SQLITE_(BUSY|LOCKED|PROTOCOL)/;

/** What SQLite's result codes mean for the operator. */
const SQLITE_CODES: readonly (readonly [pattern: RegExp, code: Code, what: string])[] = [
  [BUSY, 'store/locked', 'another process holds the database'],
  [/^SQLITE_FULL/, 'store/full', 'the disk is full'],
  [/^SQLITE_IOERR/, 'store/full', 'the disk does not take the write'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'store/corrupt', 'the database is damaged'],
  [/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/, 'store/unwritable', 'the database cannot be written'],
  [
    /^(EACCES|EPERM|EROFS|ENOTDIR|ENOENT|EEXIST|ELOOP|EISDIR)$/,
    'store/unwritable',
    'the directory cannot be used',
  ],
  [/^(EMFILE|ENFILE)$/, 'store/unwritable', 'too many files are open'],
  [/^(ENOSPC|EDQUOT|EFBIG)$/, 'store/full', 'the disk is full'],
];

/** Turns an error of SQLite or of the file system into its code; any other error is returned unchanged. */
export function storeErrorOf(error: unknown, doing: string): unknown {
  if (error instanceof CodedError || !(error instanceof Error)) return error;
  const { code = '', message } = error as Error & { code?: string };
  const text = String(code) || (/ConnectionFailed/.test(message) ? 'SQLITE_CANTOPEN' : '');
  const [, known, what] = SQLITE_CODES.find(([pattern]) => pattern.test(text)) ?? [];
  if (known === undefined) return error;
  return new CodedError(known, `Cannot ${doing}: ${what} (${text})`, { cause: error });
}

/** Whether the file may be fine and only cannot be opened now. */
export function isOutOfFiles(error: unknown): boolean {
  return (
    error instanceof Error && /^(EMFILE|ENFILE)$/.test(String((error as Error & { code?: string }).code))
  );
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && BUSY.test(String((error as Error & { code?: string }).code));
}
