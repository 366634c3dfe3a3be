import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readGitIdentity } from '../../../src/tiers/workspace/git-identity.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

function homeWith(files: Readonly<Record<string, string>>): string {
  const home = tempDir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  return home;
}

const GRACE = '[user]\n\tname = "Grace Hopper"\n\temail = grace@example.com\n';
const IDENTITY = { name: 'Grace Hopper', email: 'grace@example.com' };

test.each<[string, Readonly<Record<string, string>>]>([
  ['.gitconfig', { '.gitconfig': GRACE }],
  ['.config/git/config', { '.config/git/config': GRACE }],
  [
    'both, the former last',
    { '.config/git/config': '[user]\nname = Ada\nemail = a@example.com', '.gitconfig': GRACE },
  ],
  ['a file that is included', { '.gitconfig': '[include]\n\tpath = ~/more\n', more: GRACE }],
  ['one beside it', { '.gitconfig': '[include]\n\tpath = dir/more\n', 'dir/more': GRACE }],
])('readGitIdentity() takes the name and the address from %s', (_, files) => {
  expect(readGitIdentity(homeWith(files))).toEqual(IDENTITY);
});

test('readGitIdentity() reads names of any script', () => {
  const home = homeWith({ '.gitconfig': '[user]\nname = Žofie 本\nemail = z@example.com\n' });
  expect(readGitIdentity(home)?.name).toBe('Žofie 本');
});

test.each<[string, string]>([
  ['a line break', '[user]\nname = "a\\n[core]"\nemail = a@example.com\n'],
  ['brackets of an address', '[user]\nname = "a <b>"\nemail = a@example.com\n'],
  ['too many characters', `[user]\nname = ${'a'.repeat(300)}\nemail = a@example.com\n`],
  ['bytes that are not text', '[user]\nname = \xff\nemail = a@example.com\n'],
  ['no address', '[user]\nname = Grace\n'],
  ['an include of itself', '[include]\npath = .gitconfig\n'],
  ['what git would not read', '[user\nname = Grace\nemail = a@example.com\n'],
])('readGitIdentity() gives none where the settings have %s', (_, text) => {
  const home = homeWith({});
  writeFileSync(join(home, '.gitconfig'), Buffer.from(text, 'latin1'));
  expect(readGitIdentity(home)).toBeNull();
});
