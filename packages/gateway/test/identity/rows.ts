import { join } from 'node:path';
import Database from 'libsql';

/* The table of tokens in the hands of somebody who has the database, and not the gateway. */

type Row = { readonly digest: string };

export function readDigest(stateDir: string, id: string): string {
  const db = new Database(join(stateDir, 'palisade.db'), { readonly: true });
  try {
    const row = db.prepare('SELECT digest FROM identity_token WHERE id = ?').get([id]) as Row | undefined;
    return row?.digest ?? '';
  } finally {
    db.close();
  }
}

export function writeColumn(stateDir: string, id: string, column: string, value: string): void {
  const db = new Database(join(stateDir, 'palisade.db'));
  try {
    db.prepare(`UPDATE identity_token SET ${column} = ? WHERE id = ?`).run([value, id]);
  } finally {
    db.close();
  }
}
