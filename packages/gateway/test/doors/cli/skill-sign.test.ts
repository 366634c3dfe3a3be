import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { decodeKey } from '../../../src/attest/key-files.ts';
import { openPackage } from '../../../src/skills/package/open-package.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';
import { writeSkill } from './skill-fixture.ts';

const scratch = makeScratch();
const at = (name: string) => join(scratch, name);
const skill = (...words: string[]) => runInside(['skill', ...words], { cwd: scratch });
const packInto = (file: string) => skill('pack', 'echo', '--out', file);

beforeAll(async () => {
  writeSkill(at('echo'));
  await packInto('unsigned.skill');
  await skill('sign', 'unsigned.skill', '--key', 'acme.key', '--new-key', '--out', 'signed.skill');
});

describe('palisade skill sign', () => {
  test('makes a key that only its owner can read, with its public part beside it', async () => {
    await packInto('made.skill');
    const { status, out, err } = await skill('sign', 'made.skill', '--key', 'made.key', '--new-key');
    const { keyId } = decodeKey(readFileSync(at('made.key'), 'utf8'));
    expect(statSync(at('made.key')).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(at('made.key.pub.json'), 'utf8'))).toMatchObject({ keyId });
    expect(readFileSync(at('made.key.pub.json'), 'utf8')).not.toContain('PRIVATE');
    expect(out).toContain(`  key ${keyId}\n`);
    expect(err).toContain('Keep made.key private, and give made.key.pub.json to those who will trust it.');
    expect(status).toBe(0);
    expect(openPackage(readFileSync(at('made.skill'))).signer?.keyId).toBe(keyId);
  });

  test('leaves the package alone with --out', () => {
    expect(openPackage(readFileSync(at('unsigned.skill'))).signer).toBeNull();
    expect(openPackage(readFileSync(at('signed.skill'))).signer).not.toBeNull();
  });

  test('gives the same bytes for the same package and key, and replaces a signature', async () => {
    const { out } = await skill(
      'sign',
      'signed.skill',
      '--key',
      'acme.key',
      '--out',
      'again.skill',
      '--json',
    );
    expect(JSON.parse(out)).toMatchObject({ file: 'again.skill', skill: 'acme.echo', publicKey: null });
    expect(readFileSync(at('again.skill')).equals(readFileSync(at('signed.skill')))).toBe(true);
  });

  test('makes no key over another', async () => {
    const before = readFileSync(at('acme.key'));
    const { status, err } = await skill('sign', 'unsigned.skill', '--key', 'acme.key', '--new-key');
    expect(err).toContain('" already exists, expected a new name');
    expect(status).toBe(64);
    expect(readFileSync(at('acme.key')).equals(before)).toBe(true);
  });

  test('makes no key for a file that is no package', async () => {
    writeFileSync(at('garbage.skill'), 'PK no');
    const { status, out } = await skill('sign', 'garbage.skill', '--key', 'new.key', '--new-key', '--json');
    expect(JSON.parse(out)).toMatchObject({ code: 'skill/invalid-package' });
    expect(status).toBe(2);
    expect(readdirSync(scratch)).not.toContain('new.key');
    expect(readFileSync(at('garbage.skill'), 'utf8')).toBe('PK no');
  });

  test('signs no package whose signature is broken', async () => {
    const bytes = readFileSync(at('signed.skill'));
    const place = bytes.indexOf('Call it with anything.');
    expect(place).toBeGreaterThan(0);
    bytes[place] = 0x63;
    writeFileSync(at('changed.skill'), bytes);
    const { status } = await skill('sign', 'changed.skill', '--key', 'acme.key');
    expect(status).toBe(2);
    expect(readFileSync(at('changed.skill')).equals(bytes)).toBe(true);
  });

  test.each([
    ['is not there', 'none.key', () => undefined, 'no such file; create it with --new-key'],
    [
      'others can read',
      'open.key',
      (path: string) => {
        writeFileSync(path, readFileSync(at('acme.key')));
        chmodSync(path, 0o644);
      },
      'its mode is 0644, expected 0600 or less',
    ],
    [
      'is a link',
      'linked.key',
      (path: string) => symlinkSync(at('acme.key'), path),
      'it is a link, expected the file itself',
    ],
    [
      'is something else',
      'other.key',
      (path: string) => writeFileSync(path, 'hunter2', { mode: 0o600 }),
      'it is not a private key that --new-key created',
    ],
  ])('refuses a key that %s', async (_, name, prepare, message) => {
    prepare(at(name));
    const { status, err } = await skill('sign', 'unsigned.skill', '--key', name, '--out', 'never.skill');
    expect(err).toContain(message);
    expect(err).not.toContain('hunter2');
    expect(status).toBe(64);
    expect(readdirSync(scratch)).not.toContain('never.skill');
  });

  test('wants a key', async () => {
    const { status, err } = await skill('sign', 'unsigned.skill');
    expect(err).toContain('Cannot sign: the key is missing, expected --key FILE');
    expect(status).toBe(64);
  });
});
