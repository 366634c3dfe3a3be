import { join } from 'node:path';
import Database from 'libsql';

/** Changes a state directory as a newer palisade would: a migration that this one does not know. */
export function makeNewer(directory: string, version: string): void {
  const db = new Database(join(directory, 'palisade.db'));
  const [text] = db.prepare("SELECT sql FROM sqlite_master WHERE name = 'store_migration'").raw().get([]) as [
    string,
  ];
  for (const column of ['digest', 'version'])
    if (!text.includes(column)) db.exec(`ALTER TABLE store_migration ADD COLUMN ${column} TEXT`);
  db.prepare('INSERT INTO store_migration (id, applied_at_ms, digest, version) VALUES (?, 0, ?, ?)').run([
    'future/001',
    'd',
    version,
  ]);
  db.close();
}
