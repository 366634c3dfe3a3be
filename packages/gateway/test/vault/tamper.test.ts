import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { GLOBAL } from '../../src/vault/secret.ts';
import { GRACE } from '../fixture/gateway.ts';
import { ASKER, openVault, put, refusal, scoped, type TestVault, VALUE, valueIn } from './sample.ts';

/* Somebody changes the database behind the back of the vault, and has no key. */

type Raw = Database.Database;
type Row = Record<string, unknown>;

const ACME = { ...ASKER, tenant: 'acme' };

function attack(directory: string, act: (db: Raw) => void): void {
  const db = new Database(join(directory, 'palisade.db'));
  try {
    act(db);
  } finally {
    db.close();
  }
}

/** One secret for all, one of another name, and one of each of two tenants. */
async function filled(): Promise<TestVault> {
  const opened = openVault();
  await put(opened.vault, 'db', 'first for all');
  await put(opened.vault, 'mail', 'mail for all');
  await put(opened.vault, 'db', 'db for acme', scoped('tenant:acme'));
  await put(opened.vault, 'db', 'db for other', scoped('tenant:other'));
  return opened;
}

/** What a vault that was open all the time and one that opens now say to the asker. */
async function codesOf({ vault, directory }: TestVault, name: string, asker = ASKER): Promise<string[]> {
  const fresh = openVault({ directory }).vault;
  const code = async (each: typeof vault) => (await refusal(() => valueIn(each, name, asker))).code;
  return [await code(vault), await code(fresh)];
}

const UNREADABLE = ['vault/unreadable', 'vault/unreadable'];
const isDb = "name = 'db' AND scope_kind = 'global'";

/** The whole row of the secret "db" for all. */
function rowOf(directory: string): Row {
  let row: Row = {};
  attack(directory, (db) => {
    row = db.prepare(`SELECT * FROM vault_secret WHERE ${isDb}`).get([]) as Row;
  });
  delete row._metadata;
  return row;
}

function putBack(directory: string, table: string, row: Row): void {
  attack(directory, (db) => {
    const columns = Object.keys(row);
    const places = columns.map(() => '?').join(', ');
    db.prepare(`INSERT OR REPLACE INTO ${table} (${columns.join(', ')}) VALUES (${places})`).run(
      Object.values(row),
    );
  });
}

function swapSealed(one: string, other: string): string {
  return `CREATE TEMP TABLE kept AS SELECT sealed FROM vault_secret WHERE ${one};
    UPDATE vault_secret SET sealed = (SELECT sealed FROM vault_secret WHERE ${other}) WHERE ${one};
    UPDATE vault_secret SET sealed = (SELECT sealed FROM kept) WHERE ${other}`;
}

const isMail = "name = 'mail'";
const isAcme = "scope_subject = 'acme'";
const isOther = "scope_subject = 'other'";

describe('a vault whose rows were changed', () => {
  it.each([
    ['the sealed values of two names are swapped', swapSealed(isDb, isMail)],
    [
      'two names are swapped',
      `UPDATE vault_secret SET name = 'x' WHERE ${isDb};
       UPDATE vault_secret SET name = 'db' WHERE ${isMail};
       UPDATE vault_secret SET name = 'mail' WHERE name = 'x'`,
    ],
    ['the version is changed', `UPDATE vault_secret SET version = version + 1 WHERE ${isDb}`],
    [
      'the value of a tenant is put there',
      `UPDATE vault_secret SET sealed = (SELECT sealed FROM vault_secret WHERE ${isAcme}) WHERE ${isDb}`,
    ],
    [
      'the row of a tenant is moved there',
      `DELETE FROM vault_secret WHERE ${isDb};
       UPDATE vault_secret SET scope_kind = 'global', scope_subject = '' WHERE ${isAcme}`,
    ],
    ['it is cut off', `UPDATE vault_secret SET sealed = substr(sealed, 1, 27) WHERE ${isDb}`],
    ['it is emptied', `UPDATE vault_secret SET sealed = x'' WHERE ${isDb}`],
    ['it is longer', `UPDATE vault_secret SET sealed = CAST(sealed || x'00' AS BLOB) WHERE ${isDb}`],
  ])('gives no value when %s', async (_, sql) => {
    const opened = await filled();
    attack(opened.directory, (db) => db.exec(sql));
    expect(await codesOf(opened, 'db')).toEqual(UNREADABLE);
    // What was not touched still opens, and what was is mended by setting it anew.
    expect(await valueIn(opened.vault, 'db', { ...ASKER, tenant: 'other' })).toBe('db for other');
    await put(opened.vault, 'db', 'mended');
    expect(await valueIn(opened.vault, 'db')).toBe('mended');
  });

  it('gives no value when the rows of two tenants are swapped', async () => {
    const opened = await filled();
    attack(opened.directory, (db) => db.exec(swapSealed(isAcme, isOther)));
    expect(await codesOf(opened, 'db', ACME)).toEqual(UNREADABLE);
    expect(await codesOf(opened, 'db', { ...ASKER, tenant: 'other' })).toEqual(UNREADABLE);
    expect(await valueIn(opened.vault, 'db')).toBe('first for all');
  });

  it('gives no value when any single bit of it is flipped', async () => {
    const opened = await filled();
    const { sealed, ...row } = rowOf(opened.directory);
    const original = Buffer.from(sealed as Buffer);
    for (let i = 0; i < original.length; i++) {
      const changed = Buffer.from(original);
      changed[i] = (changed[i] ?? 0) ^ (1 << (i % 8));
      putBack(opened.directory, 'vault_secret', { ...row, sealed: changed });
      expect([i, (await refusal(() => valueIn(opened.vault, 'db'))).code]).toEqual([i, 'vault/unreadable']);
    }
    putBack(opened.directory, 'vault_secret', { ...row, sealed: original });
    expect(await valueIn(opened.vault, 'db')).toBe('first for all');
  });

  it('gives no value under a name that it was copied to', async () => {
    const opened = await filled();
    putBack(opened.directory, 'vault_secret', { ...rowOf(opened.directory), name: 'copy' });
    expect(await codesOf(opened, 'copy')).toEqual(UNREADABLE);
    expect(await opened.vault.remove('copy', GLOBAL, GRACE)).toBe(true);
    expect(await valueIn(opened.vault, 'db')).toBe('first for all');
  });

  it('gives no older value that was put back, row and version and all', async () => {
    const opened = await filled();
    const older = rowOf(opened.directory);
    await put(opened.vault, 'db', 'second for all');
    putBack(opened.directory, 'vault_secret', older);
    expect(opened.vault.list().find(({ name, version }) => name === 'db' && version === 1)).toBeDefined();
    expect(await codesOf(opened, 'db')).toEqual(UNREADABLE);
  });

  it('gives no value that was removed and put back, also when the name has a new one', async () => {
    const opened = await filled();
    const removed = rowOf(opened.directory);
    await opened.vault.remove('db', GLOBAL, GRACE);
    putBack(opened.directory, 'vault_secret', removed);
    expect(await codesOf(opened, 'db')).toEqual(UNREADABLE);
    await put(opened.vault, 'db', 'anew');
    expect(rowOf(opened.directory)).toMatchObject({ version: 1 });
    putBack(opened.directory, 'vault_secret', removed);
    expect(await codesOf(opened, 'db')).toEqual(UNREADABLE);
  });

  it('does not fall back to a wider secret when the more specific one was taken away', async () => {
    const opened = await filled();
    attack(opened.directory, (db) => db.exec(`DELETE FROM vault_secret WHERE ${isAcme}`));
    expect(opened.vault.find('db', ACME)).toMatchObject({ scope: GLOBAL });
    expect(await codesOf(opened, 'db', ACME)).toEqual(UNREADABLE);
    expect(await valueIn(opened.vault, 'db')).toBe('first for all');
  });

  it('takes no value that another vault sealed for the same name, scope and version', async () => {
    const [opened, another] = [await filled(), await filled()];
    putBack(opened.directory, 'vault_secret', rowOf(another.directory));
    expect(await codesOf(opened, 'db')).toEqual(UNREADABLE);
  });

  it('is not rotated: that would bless what was changed', async () => {
    const opened = await filled();
    const older = rowOf(opened.directory);
    await put(opened.vault, 'db', 'second for all');
    putBack(opened.directory, 'vault_secret', older);
    expect(await refusal(() => opened.vault.rotate(GRACE))).toMatchObject({
      code: 'vault/unreadable',
      message: expect.stringContaining('"db" (global)'),
    });
    attack(opened.directory, (db) => db.exec(`DELETE FROM vault_secret WHERE ${isDb}`));
    expect((await refusal(() => opened.vault.rotate(GRACE))).code).toBe('vault/unreadable');
    expect(await opened.vault.remove('db', GLOBAL, GRACE)).toBe(true);
    expect(await opened.vault.rotate(GRACE)).toMatchObject({ secrets: 3 });
    expect(await valueIn(opened.vault, 'mail')).toBe('mail for all');
  });
});

describe('a vault whose lock or list was changed', () => {
  /** The only row of a table. */
  function only(directory: string, table: string): Row {
    let row: Row = {};
    attack(directory, (db) => {
      row = db.prepare(`SELECT * FROM ${table}`).get([]) as Row;
    });
    delete row._metadata;
    return row;
  }

  it.each([
    ['vault_lock', 'wrapped'],
    ['vault_inventory', 'sealed'],
  ])('does not open when any single bit of %s is flipped', async (table, column) => {
    const opened = await filled();
    const row = only(opened.directory, table);
    const original = Buffer.from(row[column] as Buffer);
    for (let i = 0; i < original.length; i += 1) {
      const changed = Buffer.from(original);
      changed[i] = (changed[i] ?? 0) ^ (1 << (i % 8));
      putBack(opened.directory, table, { ...row, [column]: changed });
      const { vault } = openVault({ directory: opened.directory });
      expect([i, (await refusal(() => valueIn(vault, 'db'))).code]).toEqual([i, 'vault/unreadable']);
    }
    putBack(opened.directory, table, row);
    expect(await valueIn(openVault({ directory: opened.directory }).vault, 'db')).toBe('first for all');
  });

  it.each([
    ['the lock is gone', 'DELETE FROM vault_lock', 'vault/unreadable'],
    ['the list is gone', 'DELETE FROM vault_inventory', 'vault/unreadable'],
    ['the lock names another key', "UPDATE vault_lock SET key_ref = '0123456789abcdef'", 'vault/locked'],
    ['the lock claims to be a passphrase', "UPDATE vault_lock SET source = 'passphrase'", 'vault/locked'],
  ])('neither opens nor takes a new secret when %s', async (_, sql, code) => {
    const opened = await filled();
    attack(opened.directory, (db) => db.exec(sql));
    const { vault } = openVault({ directory: opened.directory });
    expect((await refusal(() => valueIn(vault, 'db'))).code).toBe(code);
    expect((await refusal(() => put(vault, 'new', VALUE))).code).toBe(code);
    expect((await refusal(() => vault.remove('db', GLOBAL, GRACE))).code).toBe(code);
    expect((await refusal(() => vault.rotate(GRACE))).code).toBe(code);
    expect(vault.list()).toHaveLength(4);
  });

  it('does not open the newer rows by an older list, also when it says that it is the newest', async () => {
    const opened = await filled();
    const older = only(opened.directory, 'vault_inventory');
    await put(opened.vault, 'db', 'second for all');
    expect(await valueIn(opened.vault, 'db')).toBe('second for all');
    const { mark } = only(opened.directory, 'vault_inventory');
    putBack(opened.directory, 'vault_inventory', older);
    expect(await codesOf(opened, 'db')).toEqual(UNREADABLE);
    putBack(opened.directory, 'vault_inventory', { ...older, mark });
    expect((await refusal(() => valueIn(openVault({ directory: opened.directory }).vault, 'db'))).code).toBe(
      'vault/unreadable',
    );
    expect(await valueIn(opened.vault, 'mail')).toBe('mail for all');
  });

  it('does not open with the lock of another vault, whose key it is given as well', async () => {
    const [opened, another] = [await filled(), await filled()];
    putBack(opened.directory, 'vault_lock', only(another.directory, 'vault_lock'));
    expect(await codesOf(opened, 'db')).toEqual(['vault/locked', 'vault/locked']);
    putBack(opened.directory, 'vault_inventory', only(another.directory, 'vault_inventory'));
    expect(await codesOf(opened, 'db')).toEqual(['vault/locked', 'vault/locked']);
  });
});
