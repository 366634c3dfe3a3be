import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { ClientFile } from './client-file.ts';

/* What a file was before it was changed. A backup is never written over, and a text is kept once. */

const MARK = '.palisade-backup-';
/** So many are looked at, the newest first. */
const MOST = 32;
const MAX_BYTES = 16 * 1024 * 1024;

/** The texts of the backups of a file, the newest first. */
export function earlierTexts(file: ClientFile): readonly string[] {
  return backupsOf(file).map(({ text }) => text.replace(/^\ufeff/, ''));
}

/** Keeps what the file is now; gives the name of the backup, which may be an older one with the same text. */
export function keepBackup(file: ClientFile, nowMs: number): string | null {
  if (file.text === null) return null;
  const text = `${file.hasBom ? '\ufeff' : ''}${file.text}`;
  const known = backupsOf(file).find((each) => each.text === text);
  if (known !== undefined) return known.path;
  const stamp = isoTime(nowMs).replace(/[-:.]/g, '');
  for (let i = 1; i <= MOST; i++) {
    const path = `${file.path}${MARK}${stamp}${i === 1 ? '' : `-${i}`}`;
    try {
      // Boundary: `wx` writes over nothing; the file may hold tokens of others, so it is for its owner's eyes alone.
      writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
      return path;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === 'EEXIST') continue;
      throw new CodedError(
        'door/wrong-usage',
        `Cannot keep a backup "${path}": ${code}, expected a folder to write to`,
      );
    }
  }
  throw new CodedError(
    'door/wrong-usage',
    `Cannot keep a backup of "${file.path}": its names are taken, expected a free one`,
  );
}

function backupsOf({ path }: ClientFile): readonly { readonly path: string; readonly text: string }[] {
  const lead = `${basename(path)}${MARK}`;
  const names = listOf(dirname(path)).filter((name) => name.startsWith(lead));
  const paths = names
    .sort()
    .reverse()
    .slice(0, MOST)
    .map((name) => join(dirname(path), name));
  return paths.flatMap((each) => {
    const stat = statSync(each, { throwIfNoEntry: false });
    return stat?.isFile() && stat.size <= MAX_BYTES ? [{ path: each, text: readFileSync(each, 'utf8') }] : [];
  });
}

function listOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
