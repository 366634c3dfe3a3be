import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { listBackups, putBack } from '../../src/store/backups.ts';
import { Presence } from '../../src/store/presence.ts';
import { demandAlone, inspectState } from '../../src/store/state-version.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { insertNote, NOTES, notesIn, openNotes, refusalOf } from './sample.ts';

const MORE = { id: 'note/002', sql: "UPDATE note SET text = 'changed'" };
const NEW = { migrations: [...NOTES, MORE], version: '2.0.0', nowMs: Date.UTC(2026, 1, 2) };

/** A state directory of version 1.0.0 with one note. */
async function older(): Promise<string> {
  const directory = tempDir();
  const store = openNotes(directory, { version: '1.0.0' });
  await store.commit((tx) => tx.run(insertNote, { text: 'before' }));
  store.close();
  return directory;
}

function notesOf(path: string): unknown[] {
  const db = new Database(path);
  const rows = db.prepare('SELECT text FROM note').raw().all([]) as string[][];
  db.close();
  return rows.flat();
}

describe('an upgrade', () => {
  it('keeps what was there before in a backup that only its owner can read', async () => {
    const directory = await older();
    expect(notesIn(openNotes(directory, NEW))).toEqual(['changed']);
    const [backup] = listBackups(directory);
    expect(backup).toMatchObject({ madeBy: '2.0.0', from: '1.0.0', migrations: 1 });
    const path = join(directory, 'backups', `${backup?.name}.db`);
    expect(notesOf(path)).toEqual(['before']);
    expect(statSync(path).mode & 0o077).toBe(0);
  });

  it('makes none for a new state directory, and none where nothing is to be done', async () => {
    const directory = tempDir();
    openNotes(directory, NEW).close();
    openNotes(directory, NEW).close();
    expect(existsSync(join(directory, 'backups'))).toBe(false);
  });

  it('keeps three of them', async () => {
    const directory = await older();
    const steps = [1, 2, 3, 4, 5].map((n) => ({ id: `note/1${n}`, sql: `CREATE TABLE t${n} (id INTEGER)` }));
    for (const n of [1, 2, 3, 4, 5])
      openNotes(directory, {
        migrations: [...NOTES, ...steps.slice(0, n)],
        version: `2.0.${n}`,
        nowMs: n,
      }).close();
    expect(listBackups(directory).map(({ madeBy }) => madeBy)).toEqual(['2.0.5', '2.0.4', '2.0.3']);
    expect(readdirSync(join(directory, 'backups'))).toHaveLength(6);
  });

  it('does not begin while an older process uses the state directory, and names it', async () => {
    const directory = await older();
    const child = new Child(await bundleProgram('hold-presence.ts'), [directory, 'p_old']);
    expect(await child.line()).toBe('there');
    const refusal = refusalOf(() => openNotes(directory, NEW));
    expect(refusal.code).toBe('store/locked');
    expect(refusal.message).toContain('another process uses it');
    expect(refusal.remedy).toMatch(/kill \d+/);
    expect(notesIn(openNotes(directory, { version: '1.0.0' }))).toEqual(['before']);
    await child.kill();
    expect(notesIn(openNotes(directory, NEW))).toEqual(['changed']);
  });

  it('that is killed in the middle leaves what was there, a whole backup, and can be made again', async () => {
    const directory = await older();
    const child = new Child(await bundleProgram('migrate-slowly.ts'), [directory]);
    expect(await child.line()).toBe('begins');
    while (listBackups(directory).length === 0) await pause(5);
    await child.kill();
    expect(notesIn(openNotes(directory, { version: '1.0.0' }))).toEqual(['before']);
    const [backup] = listBackups(directory);
    expect(notesOf(join(directory, 'backups', `${backup?.name}.db`))).toEqual(['before']);
  });

  it('removes what a crash left of a backup', async () => {
    const directory = await older();
    openNotes(directory, { ...NEW, nowMs: 1 }).close();
    const folder = join(directory, 'backups');
    for (const name of ['before-1.5.0-x.db.new', 'before-1.5.0-y.db'])
      writeFileSync(join(folder, name), 'half');
    const third = { id: 'note/003', sql: 'CREATE TABLE third (id INTEGER)' };
    openNotes(directory, { migrations: [...NEW.migrations, third], version: '3.0.0', nowMs: 2 }).close();
    expect(readdirSync(folder).filter((name) => name.includes('1.5.0'))).toEqual([]);
  });

  it('refuses a migration whose text is another than the one that was applied', async () => {
    const directory = await older();
    const edited = NOTES.map(({ id, sql }) => ({ id, sql: `${sql} -- edited` }));
    expect(refusalOf(() => openNotes(directory, { migrations: edited }))).toMatchObject({
      code: 'store/newer',
      message: expect.stringContaining('"note/001" was made from another text'),
    });
  });

  it('takes a list of migrations without digests, and completes it', () => {
    const directory = tempDir();
    openNotes(directory).close();
    const db = new Database(join(directory, 'palisade.db'));
    db.exec('DROP TABLE store_migration');
    db.exec('CREATE TABLE store_migration (id TEXT PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT');
    db.exec("INSERT INTO store_migration VALUES ('note/001', 5)");
    db.close();
    openNotes(directory).close();
    expect(inspectState(directory, NOTES)).toMatchObject({
      applied: [
        { id: 'note/001', appliedAtMs: 5, version: null, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
      ],
      pending: [],
    });
    expect(existsSync(join(directory, 'backups'))).toBe(false);
  });
});

describe('putBack()', () => {
  it('puts the backup in the place of the database', async () => {
    const directory = await older();
    openNotes(directory, NEW).close();
    const [backup] = listBackups(directory);
    putBack(directory, backup as never);
    expect(notesIn(openNotes(directory, { version: '1.0.0' }))).toEqual(['before']);
  });

  it('refuses a backup that was changed, and changes nothing', async () => {
    const directory = await older();
    openNotes(directory, NEW).close();
    const [backup] = listBackups(directory);
    const path = join(directory, 'backups', `${backup?.name}.db`);
    const bytes = readFileSync(path);
    bytes[bytes.length - 1] = 1 + (bytes.at(-1) ?? 0);
    rmSync(path);
    writeFileSync(path, bytes, { mode: 0o600 });
    expect(refusalOf(() => putBack(directory, backup as never)).code).toBe('store/corrupt');
    expect(notesIn(openNotes(directory, NEW))).toEqual(['changed']);
  });
});

describe('demandAlone()', () => {
  it('is content without a process, and after the last has ended', () => {
    const directory = tempDir();
    demandAlone(directory, 'go on');
    const presence = new Presence(directory, 'p_a');
    expect(refusalOf(() => demandAlone(directory, 'go on')).message).toContain('Cannot go on');
    presence.close();
    demandAlone(directory, 'go on');
  });
});
