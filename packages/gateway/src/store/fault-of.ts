import type { Code } from '@palisade/sdk';
import { CodedError } from '../core/coded-error.ts';

/** Another connection is in the way; SQLITE_PROTOCOL results from many simultaneous openings in write-ahead mode. */
const BUSY = /^SQLITE_(BUSY|LOCKED|PROTOCOL)/;

type Row = { readonly pattern: RegExp; readonly code: Code; readonly what: string };

/** What SQLite's result codes mean for the operator. */
const SQLITE_CODES: readonly Row[] = [
  {
    pattern: BUSY,
    code: 'store/locked',
    what: 'another process holds the database',
  },
  { pattern: /^SQLITE_FULL/, code: 'store/full', what: 'the disk is full' },
  { pattern: /^SQLITE_IOERR/, code: 'store/full', what: 'the disk does not take the write' },
  { pattern: /^SQLITE_CORRUPT|^SQLITE_NOTADB/, code: 'store/corrupt', what: 'the database is damaged' },
  {
    pattern: /^SQLITE_READONLY|^SQLITE_CANTOPEN|^SQLITE_PERM|^SQLITE_AUTH/,
    code: 'store/unwritable',
    what: 'the database cannot be written',
  },
  {
    pattern: /^(EACCES|EPERM|EROFS|ENOTDIR|ENOENT|EEXIST|ELOOP|EISDIR)$/,
    code: 'store/unwritable',
    what: 'the directory cannot be used',
  },
  { pattern: /^(EMFILE|ENFILE)$/, code: 'store/unwritable', what: 'too many files are open' },
  { pattern: /^(ENOSPC|EDQUOT|EFBIG)$/, code: 'store/full', what: 'the disk is full' },
];

/** Turns an error of SQLite or of the file system into its code; any other error is returned unchanged. */
export function storeErrorOf(error: unknown, doing: string): unknown {
  if (error instanceof CodedError || !(error instanceof Error)) return error;
  const { code = '', message } = error as Error & { code?: string };
  const text = String(code) || (/ConnectionFailed/.test(message) ? 'SQLITE_CANTOPEN' : '');
  const row = SQLITE_CODES.find(({ pattern }) => pattern.test(text));
  if (row === undefined) return error;
  return new CodedError(row.code, `Cannot ${doing}: ${row.what} (${text})`, { cause: error });
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
