import './fixtures/cheap-scrypt.ts';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GLOBAL } from '../../src/vault/secret.ts';
import { GRACE } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { ASKER, NO_CALL, openVault, put, refusal, scoped, type TestVault, VALUE, valueIn } from './sample.ts';

const PASSPHRASE = 'seven brave otters sing';
const OTHER = 'nine quiet herons listen';

async function filled(): Promise<TestVault> {
  const opened = openVault();
  await put(opened.vault, 'db', VALUE);
  await put(opened.vault, 'db', 'for acme', scoped('tenant:acme'));
  return opened;
}

/** A copy of the database alone, with its log, as somebody takes it away. */
function copyOf({ directory }: TestVault): string {
  const copy = tempDir();
  for (const name of ['palisade.db', 'palisade.db-wal'])
    copyFileSync(join(directory, name), join(copy, name));
  return copy;
}

describe('Vault.rotate()', () => {
  it('gives a new key file and leaves every value, version and time as it was', async () => {
    const { vault, keyPath, directory } = await filled();
    const [oldKey, before] = [readFileSync(keyPath, 'utf8'), vault.list()];
    expect(await vault.rotate(GRACE)).toEqual({ from: 'file', to: 'file', secrets: 2 });
    const newKey = readFileSync(keyPath, 'utf8');
    expect(newKey).not.toBe(oldKey);
    expect(newKey.trim().split('\n')).toHaveLength(1);
    expect(vault.list()).toEqual(before);
    expect(await valueIn(vault, 'db')).toBe(VALUE);
    expect(await valueIn(openVault({ directory }).vault, 'db', { ...ASKER, tenant: 'acme' })).toBe(
      'for acme',
    );
  });

  it('makes the old key useless for the new database, and the new key for the old one', async () => {
    const opened = await filled();
    const oldKey = readFileSync(opened.keyPath);
    const oldCopy = copyOf(opened);
    await opened.vault.rotate(GRACE);
    const newKey = readFileSync(opened.keyPath);
    const newCopy = copyOf(opened);
    const withKey = (directory: string, key: Uint8Array) => {
      mkdirSync(join(directory, 'keys'), { recursive: true, mode: 0o700 });
      writeFileSync(join(directory, 'keys', 'vault.key'), key, { mode: 0o600 });
      return openVault({ directory }).vault;
    };
    expect((await refusal(() => valueIn(withKey(newCopy, oldKey), 'db'))).code).toBe('vault/locked');
    expect((await refusal(() => valueIn(withKey(oldCopy, newKey), 'db'))).code).toBe('vault/locked');
    // Each copy opens with the key of its time.
    expect(await valueIn(withKey(oldCopy, oldKey), 'db')).toBe(VALUE);
    expect(await valueIn(withKey(newCopy, newKey), 'db')).toBe(VALUE);
  });

  it('goes from a file to a passphrase and back, and from one passphrase to another', async () => {
    const { vault, keyPath, directory } = await filled();
    expect(await vault.rotate(GRACE, { to: 'passphrase', passphrase: PASSPHRASE })).toMatchObject({
      from: 'file',
      to: 'passphrase',
    });
    expect(() => readFileSync(keyPath)).toThrow('ENOENT');
    expect(await valueIn(vault, 'db')).toBe(VALUE);
    expect(await vault.rotate(GRACE, { passphrase: OTHER })).toMatchObject({
      from: 'passphrase',
      to: 'passphrase',
    });
    const next = openVault({ directory }).vault;
    next.givePassphrase(PASSPHRASE);
    expect((await refusal(() => valueIn(next, 'db'))).code).toBe('vault/unreadable');
    next.givePassphrase(OTHER);
    expect(await valueIn(next, 'db')).toBe(VALUE);
    expect(await next.rotate(GRACE, { to: 'file' })).toMatchObject({
      from: 'passphrase',
      to: 'file',
      secrets: 2,
    });
    expect(await valueIn(openVault({ directory }).vault, 'db')).toBe(VALUE);
    // The vault that was open all the time follows.
    expect(await valueIn(vault, 'db')).toBe(VALUE);
  });

  it('takes the passphrase from the file that the operator named', async () => {
    const path = join(tempDir(), 'passphrase');
    writeFileSync(path, `${PASSPHRASE}\n`, { mode: 0o600 });
    const { directory } = await filled();
    const { vault } = openVault({ directory, settings: { passphraseFile: path } });
    expect(await vault.rotate(GRACE, { to: 'passphrase', passphrase: OTHER })).toMatchObject({
      to: 'passphrase',
    });
    expect(await valueIn(openVault({ directory, settings: { passphraseFile: path } }).vault, 'db')).toBe(
      VALUE,
    );
  });

  it('changes nothing when the new passphrase cannot be used', async () => {
    const { vault, keyPath, events } = await filled();
    const [key, count] = [readFileSync(keyPath, 'utf8'), events.length];
    expect((await refusal(() => vault.rotate(GRACE, { to: 'passphrase' }))).code).toBe('vault/locked');
    const short = { to: 'passphrase', passphrase: 'short' } as const;
    expect((await refusal(() => vault.rotate(GRACE, short))).code).toBe('door/wrong-usage');
    expect([readFileSync(keyPath, 'utf8'), events.length, vault.lockedWith]).toEqual([key, count, 'file']);
    expect(await valueIn(vault, 'db')).toBe(VALUE);
  });

  it('of several vaults at once loses nothing', async () => {
    const { directory, keyPath, vault } = await filled();
    const others = Array.from({ length: 4 }, () => openVault({ directory }).vault);
    const acts = others.flatMap((other, i) => [other.rotate(GRACE), put(other, `new-${i}`, `value ${i}`)]);
    await Promise.all(acts);
    for (const each of [vault, ...others, openVault({ directory }).vault]) {
      expect(await valueIn(each, 'db')).toBe(VALUE);
      expect(await valueIn(each, 'new-3')).toBe('value 3');
    }
    expect(readFileSync(keyPath, 'utf8').trim().split('\n')).toHaveLength(1);
  });

  it('of a vault that was never used makes it', async () => {
    const { vault } = openVault();
    expect(await vault.rotate(GRACE)).toEqual({ from: null, to: 'file', secrets: 0 });
    await put(vault, 'db', VALUE);
    expect(await valueIn(vault, 'db')).toBe(VALUE);
  });
});

describe('Vault.rotate() of a lost key', () => {
  it('removes all secrets and starts anew, and says so in its event', async () => {
    const opened = await filled();
    rmSync(opened.keyPath);
    const { vault, events, keyPath } = openVault({ directory: opened.directory });
    expect(await vault.rotate(GRACE, { lost: true })).toEqual({ from: 'file', to: 'file', secrets: 2 });
    expect(vault.list()).toEqual([]);
    expect(events).toMatchObject([{ kind: 'vault-rotated', body: { lost: true, secrets: 2 } }]);
    await put(vault, 'db', 'anew');
    expect(await valueIn(vault, 'db')).toBe('anew');
    expect(readFileSync(keyPath, 'utf8').trim().split('\n')).toHaveLength(1);
  });

  it('keeps the keys that are in the key file: a copy of the database may turn up', async () => {
    const [opened, another] = [await filled(), await filled()];
    const foreign = readFileSync(another.keyPath, 'utf8');
    writeFileSync(opened.keyPath, foreign);
    const { vault, keyPath } = openVault({ directory: opened.directory });
    await vault.rotate(GRACE, { lost: true });
    expect(readFileSync(keyPath, 'utf8')).toContain(foreign);
  });

  it('is refused while the vault opens, and when there is none', async () => {
    const { vault } = await filled();
    expect(await refusal(() => vault.rotate(GRACE, { lost: true }))).toMatchObject({
      code: 'door/wrong-usage',
      remedy: expect.stringContaining('without --lost'),
    });
    expect(await valueIn(vault, 'db')).toBe(VALUE);
    const none = openVault().vault;
    expect((await refusal(() => none.rotate(GRACE, { lost: true }))).code).toBe('door/wrong-usage');
  });

  it('lets nobody use a secret that they found before', async () => {
    const opened = await filled();
    const ref = opened.vault.find('db', ASKER);
    if (ref === null) throw new Error('Cannot find the secret');
    rmSync(opened.keyPath);
    await openVault({ directory: opened.directory }).vault.rotate(GRACE, { lost: true });
    expect((await refusal(() => opened.vault.reveal(ref, NO_CALL))).code).toBe('vault/missing');
    expect(await opened.vault.remove('db', GLOBAL, GRACE)).toBe(false);
  });
});
