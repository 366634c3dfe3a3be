import { describe, expect, it } from 'vitest';
import { PROTECTED, PROTECTED_NAMES } from '../../../src/core/protected.table.ts';
import { mayMatter, protectedIn } from '../../../src/tiers/workspace/protected.ts';
import { entry, snapshotOf } from './fixture.ts';

function rowsIn(...paths: string[]): Record<string, string> {
  const entries = paths.map((path) =>
    path.includes(' -> ')
      ? entry(path.split(' -> ')[0] ?? '', 'symlink', { target: path.split(' -> ')[1] ?? '' })
      : entry(path.replace(/\/$/, ''), path.endsWith('/') ? 'directory' : 'file'),
  );
  return Object.fromEntries(protectedIn(snapshotOf(entries), '/workspace', new Map()).rows);
}

describe('protectedIn()', () => {
  it.each([
    ['.git/hooks/pre-commit', 'git-hooks'],
    ['.git/modules/sub/hooks/post-checkout', 'git-hooks'],
    ['.git/modules/a/modules/b/config', 'git-config'],
    ['.git/worktrees/w/config.worktree', 'git-config'],
    ['vendor/lib/.git/config', 'git-config'],
    ['.GIT/Hooks/pre-commit', 'git-hooks'],
    ['.g\\xe2\\x80\\x8cit/config', 'git-config'],
    ['sub/.Envrc', 'directory-scripts'],
    ['node_modules/x/.git/config', 'git-config'],
    ['docs/claude.md', 'agent-instructions'],
  ])('finds %s', (path, row) => {
    expect(rowsIn(path)).toEqual({ [path]: row });
  });

  const patterns = PROTECTED_NAMES.flatMap((row) =>
    PROTECTED[row].patterns.split(' ').map((pattern) => [pattern, row] as const),
  );
  it.each(patterns)('finds a file of the pattern %s, at any depth', (pattern, row) => {
    const path = `deep/${pattern.replace('/**/', '/x/').replace(/\*\*$/, 'x').replaceAll('*', 'x')}`;
    expect(mayMatter(path)).toBe(true);
    expect(rowsIn(path)).toEqual({ [path]: row });
  });

  it.each([
    'src/git/config',
    'hooks/pre-commit',
    'envrc',
    'package.json',
    'Makefile',
    '.git/hooks/pre-commit.sample',
    '.gitattributes',
    '.npmrc',
    'node_modules/x/.github/workflows/ci.yml',
    'node_modules/x/.vscode/settings.json',
    'v/lib/python3/site-packages/x/.envrc',
    'v/pyvenv.cfg',
    'v/bin/activate',
  ])('leaves %s alone', (path) => {
    expect(rowsIn(path)).toEqual({});
  });

  it.each([
    ['the workspace itself', ''],
    ['a directory', 'assets/'],
    ['a directory of a package', 'node_modules/x/'],
  ])('takes %s for a repository by what is in it', (_, at) => {
    const parts = [`${at}HEAD`, `${at}objects/`, `${at}refs/`, `${at}config`, `${at}hooks/update`];
    expect(rowsIn(...parts)).toEqual({ [`${at}config`]: 'git-config', [`${at}hooks/update`]: 'git-hooks' });
    expect(rowsIn(...parts.slice(1))).toEqual({});
  });

  it('takes a directory with a HEAD and a commondir for a repository', () => {
    const rows = rowsIn('w/HEAD', 'w/commondir', 'w/config.worktree');
    expect(rows).toEqual({ 'w/commondir': 'git-layout', 'w/config.worktree': 'git-config' });
  });

  it('finds what links of a protected name lead to, also over other links', () => {
    const rows = rowsIn(
      ...['scripts/', 'scripts/pre-commit', 'env/', 'env/dev', '.store/', '.store/HEAD', 'bin/', 'bin/x'],
      ...['.git -> .store', '.store/hooks -> ../scripts', '.envrc -> env/dev', 'bin/y -> x'],
    );
    expect(rows).toEqual({
      '.git': 'git-layout',
      '.store/hooks': 'git-hooks',
      'scripts/pre-commit': 'git-hooks',
      '.envrc': 'directory-scripts',
      'env/dev': 'directory-scripts',
    });
  });

  it('finds what an old link leads to among very many links of other names', () => {
    const many = Array.from({ length: 40 }, (_, index) => `l${index} -> tools`);
    const rows = rowsIn(
      ...many,
      'tools/',
      'tools/x',
      'tools/sub -> ../more',
      'more/',
      'more/y',
      '.husky -> tools',
    );
    expect(rows).toMatchObject({ 'tools/x': 'hook-managers', 'more/y': 'hook-managers' });
  });

  it('protects a file that has more names than it judges, and says so', () => {
    const links = Array.from({ length: 100 }, (_, index) =>
      entry(`.l${index}`, 'symlink', { target: '.envrc' }),
    );
    const { unjudged } = protectedIn(
      snapshotOf([entry('.envrc', 'file'), ...links]),
      '/workspace',
      new Map(),
    );
    expect(unjudged).toEqual(['.envrc']);
  });
});

describe('the table of protected files', () => {
  it('has a sentence in every row, and no pattern twice', () => {
    const rows = PROTECTED_NAMES.map((name) => PROTECTED[name]);
    expect(rows.filter(({ sentence }) => !/^[A-Za-z].*\.$/.test(sentence))).toEqual([]);
    const patterns = rows.flatMap(({ patterns: each }) => each.toLowerCase().split(' '));
    expect(new Set(patterns).size).toBe(patterns.length);
  });
});
