import './fixtures/cheap-scrypt.ts';
import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../fixture/temp-dir.ts';
import { again, lockedByPassphrase, openVault, PASSPHRASE, put, refusal, VALUE, valueIn } from './sample.ts';

function passphraseFile(text: string, mode = 0o600): string {
  const path = join(tempDir(), 'passphrase');
  writeFileSync(path, text, { mode });
  return path;
}

describe('a vault that is locked with a passphrase', () => {
  it('opens with it alone, and makes no key file', async () => {
    const opened = await lockedByPassphrase();
    expect(opened.vault.lockedWith).toBe('passphrase');
    expect(statSync(opened.keyPath, { throwIfNoEntry: false })).toBeUndefined();
    const { vault } = again(opened);
    expect(vault.needsPassphrase).toBe(true);
    expect(vault.list()).toHaveLength(1);
    expect(await refusal(() => valueIn(vault, 'db'))).toMatchObject({
      code: 'vault/locked',
      remedy: expect.stringContaining('vault.passphrase_file'),
    });
    vault.givePassphrase('seven brave otters sang');
    expect(await refusal(() => valueIn(vault, 'db'))).toMatchObject({
      code: 'vault/unreadable',
      message: expect.not.stringContaining('otters'),
    });
    expect((await refusal(() => put(vault, 'new', VALUE))).code).toBe('vault/unreadable');
    vault.givePassphrase(PASSPHRASE);
    expect(vault.needsPassphrase).toBe(false);
    expect(await valueIn(vault, 'db')).toBe(VALUE);
  });

  it('opens with the first line of the file that the operator named', async () => {
    const path = passphraseFile(`${PASSPHRASE}\r\nnot this line\n`);
    const opened = await lockedByPassphrase();
    const { vault } = again(opened, { passphraseFile: path });
    expect(vault.needsPassphrase).toBe(false);
    expect(await valueIn(vault, 'db')).toBe(VALUE);
  });

  it.each([
    ['others can read', () => passphraseFile(PASSPHRASE, 0o644), 'its mode is 0644'],
    ['does not exist', () => join(tempDir(), 'none'), 'there is none'],
    ['is empty', () => passphraseFile('\n'), 'its first line is empty'],
    [
      'is a link',
      () => {
        const link = join(tempDir(), 'link');
        symlinkSync(passphraseFile(PASSPHRASE), link);
        return link;
      },
      'it is a link',
    ],
  ])('does not open with a file that %s', async (_, make, what) => {
    const opened = await lockedByPassphrase();
    const { vault } = again(opened, { passphraseFile: make() });
    expect(await refusal(() => valueIn(vault, 'db'))).toMatchObject({
      code: 'vault/locked',
      message: expect.stringContaining(what),
    });
  });

  it('takes no new passphrase that is short', async () => {
    const { vault, events } = openVault({ settings: { key: 'passphrase' } });
    vault.givePassphrase('elevenchars');
    expect((await refusal(() => put(vault, 'db', VALUE))).code).toBe('door/wrong-usage');
    expect([vault.lockedWith, events]).toEqual([null, []]);
  });

  it('takes one passphrase for another only when they are the same letters', async () => {
    const opened = openVault({ settings: { key: 'passphrase' } });
    opened.vault.givePassphrase('caf\u00e9 caf\u00e9 caf\u00e9');
    await put(opened.vault, 'db', VALUE);
    const { vault } = again(opened);
    vault.givePassphrase('cafe\u0301 cafe\u0301 cafe\u0301');
    expect(await valueIn(vault, 'db')).toBe(VALUE);
    const other = again(opened).vault;
    other.givePassphrase('cafe cafe cafe');
    expect((await refusal(() => valueIn(other, 'db'))).code).toBe('vault/unreadable');
  });
});
