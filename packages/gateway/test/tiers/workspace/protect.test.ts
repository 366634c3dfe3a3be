import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Change, diffSnapshots } from '../../../src/tiers/workspace/diff.ts';
import { otherNamesAfter } from '../../../src/tiers/workspace/hygiene.ts';
import { protectedChanges } from '../../../src/tiers/workspace/protect.ts';
import { afterRun, entry, makeGround, put, snapshotOf } from './fixture.ts';

/** What a run that added these files would have changed. */
function added(...paths: string[]): Change[] {
  return diffSnapshots(snapshotOf([]), snapshotOf(paths.map((path) => entry(path, 'file'))));
}

const hits = (changes: readonly Change[], ...patterns: string[]) =>
  protectedChanges(changes, patterns).map(({ path, how }) => `${how} ${path}`);

describe('protectedChanges()', () => {
  it.each([
    ['.mcp.json', '.mcp.json', 'exact'],
    ['.git/hooks', '.git/hooks/pre-commit', 'exact'],
    ['./.git/hooks/', '.git/hooks/pre-commit', 'exact'],
    ['.git/hooks/**', '.git/hooks/pre-commit', 'exact'],
    ['.git/hooks', '.GIT/Hooks/pre-commit', 'case'],
    ['**/.npmrc', 'packages/a/.npmrc', 'exact'],
    ['**/.npmrc', 'packages/a/.NPMRC', 'case'],
    ['secrets/*.pem', 'secrets/a.pem', 'exact'],
    ['*', 'anything', 'exact'],
    ['**', 'any/thing', 'exact'],
  ])('holds %s against %s', (pattern, path, how) => {
    expect(hits(added(path), pattern)).toEqual([`${how} ${path}`]);
  });

  it.each([
    ['.git/hooks', '.git/hooks2'],
    ['.npmrc', 'packages/.npmrc'],
    ['secrets/*.pem', 'secrets/a/b.key'],
    ['*/x', 'x'],
  ])('does not hold %s against %s', (pattern, path) => {
    expect(hits(added(path), pattern)).toEqual([]);
  });

  it.each(['', '/etc', '../x', 'a/../b', 'a//b', '.', './'])(
    'refuses the pattern %j, which protects nothing',
    (pattern) => {
      expect(() => protectedChanges(added('x'), [pattern])).toThrow(/^Cannot protect/);
    },
  );

  it('knows the pattern that was hit, as it was written', () => {
    expect(protectedChanges(added('.NPMrc'), ['x', './.npmrc'])).toEqual([
      { path: '.NPMrc', pattern: './.npmrc', how: 'case' },
    ]);
  });

  it('finds each of 5,000 protected paths and nothing else', () => {
    const patterns = Array.from({ length: 5_000 }, (_, index) => `src/${index}/file`);
    const paths = Array.from({ length: 5_000 }, (_, index) => `src/${index * 2}/file`);
    expect(hits(added(...paths), ...patterns)).toHaveLength(2_500);
  });

  it('holds every plain path against itself, all below it and every change of case', () => {
    const name = fc.stringMatching(/^[a-zäß.]{1,5}$/).filter((text) => !/^\.+$/.test(text));
    const names = fc.array(name, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(names, fc.array(name, { maxLength: 2 }), (own, below) => {
        const path = [...own, ...below].join('/');
        expect(hits(added(path), own.join('/'))).toEqual([`exact ${path}`]);
        expect(hits(added(path.toUpperCase()), own.join('/'))).toHaveLength(1);
      }),
    );
  });
});

describe('protectedChanges() after a real run', () => {
  const PROTECTED = ['.git/hooks', '.git/config'];

  it('sees that the directory above a protected path was moved away and made anew', async () => {
    const { workspace } = makeGround([
      '.git/config',
      '.git/hooks/sample',
      'fake/config',
      'fake/hooks/sample',
    ]);
    const { changes } = await afterRun(workspace, () => {
      renameSync(join(workspace, '.git'), join(workspace, 'old'));
      renameSync(join(workspace, 'fake'), join(workspace, '.git'));
    });
    expect(hits(changes, ...PROTECTED)).toEqual([
      'ancestor .git',
      'exact .git/config',
      'exact .git/hooks',
      'exact .git/hooks/sample',
    ]);
  });

  it('sees that the directory above became a link', async () => {
    const { workspace } = makeGround(['.git/HEAD', 'fake/hooks/sample']);
    const { changes } = await afterRun(workspace, () => {
      rmSync(join(workspace, '.git'), { recursive: true });
      symlinkSync('fake', join(workspace, '.git'));
    });
    expect(hits(changes, ...PROTECTED)).toEqual(['ancestor .git']);
  });

  it('sees a link where the directory above did not exist yet', async () => {
    const { workspace } = makeGround(['fake/hooks/sample']);
    const { changes } = await afterRun(workspace, () => symlinkSync('fake', join(workspace, '.git')));
    expect(hits(changes, ...PROTECTED)).toEqual(['ancestor .git']);
    expect(hits(changes, '**/.git/hooks')).toEqual(['ancestor .git']);
  });

  it('lets a directory above be made, and other things in it be changed', async () => {
    const { workspace } = makeGround(['other/file']);
    const { changes } = await afterRun(workspace, () => {
      mkdirSync(join(workspace, '.git'));
      writeFileSync(join(workspace, '.git/HEAD'), '');
      rmSync(join(workspace, 'other'), { recursive: true });
    });
    expect(hits(changes, ...PROTECTED, '**/secret')).toEqual([]);
  });

  it('sees a change behind a link that was there before', async () => {
    const { workspace } = makeGround(['scripts/pre-commit', '.git/HEAD']);
    symlinkSync('../scripts', join(workspace, '.git/hooks'));
    const { changes, after } = await afterRun(workspace, () => put(workspace, 'scripts/pre-commit', 'evil'));
    expect(protectedChanges(changes, PROTECTED)).toEqual([]);
    expect(protectedChanges(changes, PROTECTED, otherNamesAfter(after, workspace))).toEqual([
      { path: 'scripts/pre-commit', pattern: '.git/hooks', how: 'other-name' },
    ]);
  });
});
