import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../src/store/migrate.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { NOTES, notesIn, openNotes, refusalOf } from './sample.ts';

const MORE = { id: 'note/002', sql: 'CREATE TABLE tag (id INTEGER PRIMARY KEY) STRICT' };
const BROKEN = { id: 'note/003', sql: 'CREATE TABLE note (again TEXT)' };

function tablesIn(directory: string): string[] {
  const db = new Database(join(directory, 'palisade.db'));
  const rows = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").raw().all([]);
  db.close();
  return (rows as [string][]).map(([name]) => name);
}

describe('migrate()', () => {
  it('applies what is missing, once', () => {
    const directory = tempDir();
    openNotes(directory).close();
    openNotes(directory, { migrations: [...NOTES, MORE] }).close();
    openNotes(directory, { migrations: [...NOTES, MORE] }).close();
    expect(tablesIn(directory)).toEqual(['note', 'store_migration', 'tag']);
  });

  it('applies all steps or none', () => {
    const directory = tempDir();
    expect(() => openNotes(directory, { migrations: [...NOTES, MORE, BROKEN] })).toThrow(/already exists/);
    expect(tablesIn(directory)).toEqual([]);
    expect(notesIn(openNotes(directory))).toEqual([]);
  });

  it('leaves the tables before a broken step as they were', () => {
    const directory = tempDir();
    openNotes(directory).close();
    expect(() => openNotes(directory, { migrations: [...NOTES, MORE, BROKEN] })).toThrow(/already exists/);
    expect(tablesIn(directory)).toEqual(['note', 'store_migration']);
  });

  it('refuses the database of a newer palisade and changes nothing in it', () => {
    const directory = tempDir();
    openNotes(directory, { migrations: [...NOTES, MORE], version: '9.0.0' }).close();
    expect(refusalOf(() => openNotes(directory, { version: '1.0.0' }))).toMatchObject({
      code: 'store/newer',
      message: `Cannot open the state directory "${directory}": palisade 9.0.0 has changed it (migration "note/002"), and this is palisade 1.0.0`,
      remedy: expect.stringContaining('Install palisade 9.0.0 or newer'),
    });
    expect(tablesIn(directory)).toEqual(['note', 'store_migration', 'tag']);
  });

  it('refuses a newer database also when it has steps of its own to apply', () => {
    const directory = tempDir();
    openNotes(directory, { migrations: [...NOTES, MORE] }).close();
    const other = { id: 'other/001', sql: 'CREATE TABLE other (id INTEGER PRIMARY KEY) STRICT' };
    expect(refusalOf(() => openNotes(directory, { migrations: [...NOTES, other] })).code).toBe('store/newer');
    expect(tablesIn(directory)).not.toContain('other');
  });

  it('tells its own error when the database ended the transaction by itself', () => {
    const db = new Database(':memory:');
    const rolledBack = { id: 'a/001', sql: 'ROLLBACK; SELECT 1 FROM nowhere' };
    const about = { directory: '/nowhere', version: '1.0.0', nowMs: 0, prepare: () => undefined };
    expect(() => migrate(db, { ...about, migrations: [rolledBack] })).toThrow(/nowhere/);
    db.close();
  });

  it('lets several processes found one state directory at once', async () => {
    const directory = tempDir();
    const program = await bundleProgram('call-many.ts');
    const children = ['ada', 'bob', 'cyd'].map((name) => new Child(program, [directory, name]));
    for (const child of children) expect(await child.line()).toBe('ready');
    for (const child of children) child.go();
    for (const child of children) expect(await child.line()).toContain('"code":"ok"');
  });
});
