import { createDecipheriv, scryptSync } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { GLOBAL } from '../../src/vault/secret.ts';
import { GRACE } from '../fixture/gateway.ts';
import {
  again,
  lockedByPassphrase,
  openVault,
  PASSPHRASE,
  put,
  refusal,
  scoped,
  type TestVault,
  VALUE,
  valueIn,
} from './sample.ts';

async function lockedByFile(): Promise<TestVault> {
  const opened = openVault();
  await put(opened.vault, 'db', VALUE);
  return opened;
}

describe('the key file of a vault', () => {
  it('is made with the first secret, for its owner alone, and needs no other', async () => {
    const opened = await lockedByFile();
    expect(statSync(opened.keyPath).mode & 0o777).toBe(0o600);
    expect(readFileSync(opened.keyPath, 'utf8')).toMatch(/^[0-9a-f]{16} [0-9a-f]{64}\n$/);
    expect(opened.vault.lockedWith).toBe('file');
    expect(await valueIn(again(opened).vault, 'db')).toBe(VALUE);
  });

  it('is never made anew when it is lost: nothing opens, nothing is set, and the way out is told', async () => {
    const opened = await lockedByFile();
    renameSync(opened.keyPath, `${opened.keyPath}.elsewhere`);
    const { vault } = again(opened);
    for (const act of [
      () => valueIn(vault, 'db'),
      () => put(vault, 'new', VALUE),
      () => vault.rotate(GRACE),
    ]) {
      expect(await refusal(act)).toMatchObject({
        code: 'vault/locked',
        remedy: expect.stringContaining('secrets rotate --lost'),
      });
    }
    expect(vault.list()).toHaveLength(1);
    renameSync(`${opened.keyPath}.elsewhere`, opened.keyPath);
    expect(await valueIn(vault, 'db')).toBe(VALUE);
  });

  it.each([
    ['others can read', 0o644, 'its mode is 0644'],
    ['its group can read', 0o640, 'its mode is 0640'],
    ['its group can write', 0o620, 'its mode is 0620'],
    ['others can only search', 0o601, 'its mode is 0601'],
  ])('is refused when %s it', async (_, mode, what) => {
    const opened = await lockedByFile();
    chmodSync(opened.keyPath, mode);
    expect(await refusal(() => valueIn(again(opened).vault, 'db'))).toMatchObject({
      code: 'vault/locked',
      message: expect.stringContaining(what),
      remedy: expect.stringContaining('mode 0600'),
    });
    chmodSync(opened.keyPath, 0o600);
    expect(await valueIn(again(opened).vault, 'db')).toBe(VALUE);
  });

  it.each([
    ['a link to the very key', (path: string, aside: string) => symlinkSync(aside, path), 'it is a link'],
    ['a directory', (path: string) => mkdirSync(path, { mode: 0o700 }), 'it is something else'],
    [
      'too large',
      (path: string) => writeFileSync(path, 'x'.repeat(70_000), { mode: 0o600 }),
      'it is too large',
    ],
    ['garbage', (path: string) => writeFileSync(path, 'no key\n', { mode: 0o600 }), 'is damaged'],
    [
      'a key with an id that is not its own',
      (path: string, aside: string) =>
        writeFileSync(
          path,
          readFileSync(aside, 'utf8').replace(/.\n/, (end) => `${end[0] === '0' ? '1' : '0'}\n`),
          {
            mode: 0o600,
          },
        ),
      'is damaged',
    ],
  ])('is refused when it is %s', async (_, make, what) => {
    const opened = await lockedByFile();
    const aside = `${opened.keyPath}.aside`;
    renameSync(opened.keyPath, aside);
    make(opened.keyPath, aside);
    const { message, code } = await refusal(() => valueIn(again(opened).vault, 'db'));
    expect([code, message]).toEqual(['vault/locked', expect.stringContaining(what)]);
    const [, key = 'no key'] = readFileSync(aside, 'utf8').trim().split(' ');
    expect(message).not.toContain(key.slice(0, 8));
  });

  it('of another vault opens nothing, and beside the right one it does no harm', async () => {
    const [opened, another] = [await lockedByFile(), await lockedByFile()];
    const [own, foreign] = [opened, another].map(({ keyPath }) => readFileSync(keyPath, 'utf8'));
    writeFileSync(opened.keyPath, `${foreign}`);
    expect((await refusal(() => valueIn(again(opened).vault, 'db'))).code).toBe('vault/locked');
    writeFileSync(opened.keyPath, `${foreign}${own}`);
    expect(await valueIn(again(opened).vault, 'db')).toBe(VALUE);
  });

  it('that is there already is kept when a vault is made: a copy of a database may need it', async () => {
    const old = await lockedByFile();
    const kept = readFileSync(old.keyPath, 'utf8');
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(old.directory, `palisade.db${suffix}`), { force: true });
    const fresh = again(old);
    await put(fresh.vault, 'db', 'in the new database');
    expect(readFileSync(old.keyPath, 'utf8').startsWith(kept)).toBe(true);
    expect(await valueIn(again(old).vault, 'db')).toBe('in the new database');
  });
});

describe('vault.key = "keychain"', () => {
  it('is refused with what to set instead, also for a vault that is there', async () => {
    const refused = { code: 'vault/locked', remedy: expect.stringContaining('"file" or to "passphrase"') };
    const { vault } = openVault({ settings: { key: 'keychain' } });
    expect(await refusal(() => put(vault, 'db', VALUE))).toMatchObject(refused);
    const opened = await lockedByFile();
    const changed = again(opened, { key: 'keychain' }).vault;
    expect(await refusal(() => valueIn(changed, 'db'))).toMatchObject(refused);
    expect(await refusal(() => changed.rotate(GRACE, { lost: true }))).toMatchObject(refused);
    expect(await valueIn(again(opened).vault, 'db')).toBe(VALUE);
  });
});

describe('the format of a vault', () => {
  /** Opens AES-256-GCM as the documents describe it, with nothing of ours. */
  function openSealed(key: Uint8Array, sealed: Uint8Array, binding: string): Buffer {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), { authTagLength: 16 });
    decipher.setAAD(Buffer.from(binding));
    decipher.setAuthTag(sealed.subarray(-16));
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
  }

  function select(directory: string, sql: string): Record<string, never> {
    const db = new Database(join(directory, 'palisade.db'));
    try {
      return db.prepare(sql).get([]) as Record<string, never>;
    } finally {
      db.close();
    }
  }

  it('is what docs/secrets.md says, with a key file', async () => {
    const opened = openVault();
    await opened.vault.set('db', scoped('tenant:acme'), Buffer.from(VALUE), GRACE);
    const [id = '', hex = ''] = readFileSync(opened.keyPath, 'utf8').trim().split(' ');
    const lock = select(opened.directory, 'SELECT * FROM vault_lock');
    expect(lock).toMatchObject({ source: 'file', key_ref: id });
    const binding = `["palisade-vault-key/v1","file","${id}"]`;
    const key = openSealed(Buffer.from(hex, 'hex'), lock.wrapped ?? Buffer.alloc(0), binding);
    const { sealed } = select(opened.directory, 'SELECT sealed FROM vault_secret');
    expect(
      openSealed(key, sealed ?? Buffer.alloc(0), '["palisade-secret/v1","tenant","acme","db",1]').toString(),
    ).toBe(VALUE);
  });

  it('is what docs/secrets.md says, with a passphrase', async () => {
    const opened = await lockedByPassphrase();
    const lock = select(opened.directory, 'SELECT * FROM vault_lock');
    const { key_ref: salt = '' } = lock as Record<string, string>;
    const wrapping = scryptSync(PASSPHRASE, Buffer.from(salt, 'hex'), 32, {
      N: 2 ** 17,
      r: 8,
      p: 1,
      maxmem: 2 ** 28,
    });
    const binding = `["palisade-vault-key/v1","passphrase","${salt}"]`;
    const key = openSealed(wrapping, lock.wrapped ?? Buffer.alloc(0), binding);
    const { sealed } = select(opened.directory, 'SELECT sealed FROM vault_secret');
    expect(
      openSealed(key, sealed ?? Buffer.alloc(0), '["palisade-secret/v1","global","","db",1]').toString(),
    ).toBe(VALUE);
  });

  it('never seals the same value the same way twice', async () => {
    const { vault, directory } = openVault();
    const seen = new Set<string>();
    for (let i = 0; i < 20; i++) {
      await vault.set('db', GLOBAL, Buffer.from(VALUE), GRACE);
      const { sealed } = select(directory, 'SELECT sealed FROM vault_secret');
      seen.add(
        Buffer.from(sealed ?? '')
          .toString('hex')
          .slice(0, 24),
      );
    }
    expect(seen.size).toBe(20);
  });
});
