import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { openGateway } from '../../packages/gateway/src/open.ts';
import type { Vault } from '../../packages/gateway/src/vault/vault.ts';
import { palisade as palisadeInside } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { palisade, scratch } from '../fixtures/cli.ts';

/* Somebody reads every file of the state directory and everything that palisade prints, and looks for a secret. */

const SECRET = 'xK7/"pä$$\\wörd+42\x1b[31m';
const PASSPHRASE = 'seven brave otters sing';
const ADA = { tenant: 'default', principal: { kind: 'agent', name: 'ada' }, skill: null } as const;

/** A text in the spellings in which it could have been written down. */
function spellings(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text);
  const inner = [1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes, Buffer.alloc(3)])
      .toString('base64')
      .slice(offset + 1, -8),
  );
  return [
    bytes,
    Buffer.from(JSON.stringify(text).slice(1, -1)),
    Buffer.from(bytes.toString('base64').replace(/=+$/, '').slice(0, -1)),
    Buffer.from(bytes.toString('base64url').slice(0, -1)),
    ...inner.map((part) => Buffer.from(part)),
    Buffer.from(bytes.toString('hex')),
    Buffer.from(encodeURIComponent(text)),
    Buffer.from(text, 'utf16le'),
  ];
}

/** Every file below a directory in which one of the texts is spelled out. */
function filesWith(directory: string, texts: readonly string[]): string[] {
  const wanted = texts.flatMap(spellings);
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(directory, name);
    if (!statSync(path).isFile()) return false;
    const content = readFileSync(path);
    return wanted.some((each) => content.includes(each));
  });
}

async function withVault<T>(state: string, act: (vault: Vault) => Promise<T>): Promise<T> {
  const gateway = await openGateway({ stateDir: state, env: readEnvironment({}), version: 'test' });
  try {
    return await act(gateway.vault);
  } finally {
    await gateway.close();
  }
}

async function use(vault: Vault): Promise<string> {
  const ref = vault.find('db', ADA);
  if (ref === null) throw new Error('Cannot find the secret');
  return Buffer.from(await vault.reveal(ref, { call: 'call_1', tool: 'palisade.echo' })).toString();
}

describe('a secret of the vault', () => {
  test('is in no file and in nothing that is printed, whatever is done with it', async () => {
    const [state, elsewhere] = [scratch(), scratch()];
    const file = join(elsewhere, 'passphrase');
    writeFileSync(file, `${PASSPHRASE}\n`, { mode: 0o600 });
    writeFileSync(join(state, 'palisade.toml'), `[vault]\npassphrase_file = "${file}"\n`);
    const printed: string[] = [];
    const run = async (words: readonly string[], stdin = '') => {
      const { out, err, status } = await palisadeInside([...words, '--state', state], { stdin });
      printed.push(out, err);
      return status;
    };
    // The first one as a process, which could print or leave more than the command line itself does.
    const first = await palisade(['secrets', 'set', 'db', '--state', state], SECRET);
    printed.push(first.out, first.err);
    expect(first.status).toBe(0);
    expect(await run(['secrets', 'set', 'db', '--scope', 'principal:agent:ada', '--json'], SECRET)).toBe(0);
    expect(await withVault(state, use)).toBe(SECRET);
    expect(await run(['secrets', 'set', 'db', '--scope', 'nobody'], SECRET)).toBe(64);
    expect(await run(['secrets', 'set', 'DB'], SECRET)).toBe(64);
    expect(await run(['secrets', 'set', 'db', '--as', 'agent:ada'], SECRET)).toBe(2);
    expect(await run(['secrets', 'rotate'])).toBe(0);
    expect(await run(['secrets', 'rotate', '--to', 'passphrase'])).toBe(0);
    expect(await withVault(state, use)).toBe(SECRET);
    writeFileSync(file, 'nine quiet herons listen\n');
    expect(await run(['secrets', 'set', 'other', '--json'], SECRET)).toBe(2);
    await expect(withVault(state, use)).rejects.toThrow('Cannot open the vault');
    chmodSync(file, 0o644);
    expect(await run(['secrets', 'set', 'other'], SECRET)).toBe(2);
    for (const words of [
      ['secrets', 'list'],
      ['journal', 'export'],
      ['doctor', '--json'],
      ['config', 'show'],
    ])
      await run(words);
    expect(await run(['secrets', 'rm', 'db', '--json'])).toBe(2);
    expect(filesWith(state, [SECRET, PASSPHRASE])).toEqual([]);
    const reported = Buffer.from(printed.join('\n'));
    expect([SECRET, PASSPHRASE].flatMap(spellings).filter((each) => reported.includes(each))).toEqual([]);
    // The same search finds what is not secret.
    expect(filesWith(state, ['secret-used'])).not.toEqual([]);
    expect(reported.includes('principal:agent:ada')).toBe(true);
  }, 120_000);

  test('is not in the log of the database before it is carried over, either', async () => {
    const state = scratch();
    await withVault(state, async (vault) => {
      await vault.set('db', { kind: 'global', subject: '' }, Buffer.from(SECRET), {
        kind: 'user',
        name: 'grace',
      });
      expect(await use(vault)).toBe(SECRET);
      expect(filesWith(state, [SECRET])).toEqual([]);
      expect(filesWith(state, ['secret-used'])).toContain('palisade.db-wal');
    });
  });
});
