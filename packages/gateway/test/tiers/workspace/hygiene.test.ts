import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { diffSnapshots } from '../../../src/tiers/workspace/diff.ts';
import { FINDINGS } from '../../../src/tiers/workspace/findings.table.ts';
import { findingsIn } from '../../../src/tiers/workspace/hygiene.ts';
import { SENSITIVE } from '../../../src/tiers/workspace/sensitive.table.ts';
import { afterRun, entry, makeFifo, makeGround, put, snapshotOf, whysOf } from './fixture.ts';

/** What there is to say about these files, had a run added them. */
function judge(...paths: string[]) {
  const after = snapshotOf(paths.map((path) => entry(path, 'file')));
  return findingsIn(diffSnapshots(snapshotOf([]), after), after, '/workspace');
}

describe('findingsIn() of what a run left behind', () => {
  it('has nothing to say about ordinary work', async () => {
    const { workspace } = makeGround(['src/a.ts']);
    const { findings, changes } = await afterRun(workspace, () => {
      put(workspace, 'src/b.ts');
      put(workspace, 'out/tool', '', 0o755);
      symlinkSync('../src/a.ts', join(workspace, 'out/a.ts'));
      linkSync(join(workspace, 'src/b.ts'), join(workspace, 'out/b.ts'));
      put(workspace, 'notes/run.sh', '');
    });
    expect(changes.length).toBe(7);
    expect(findings).toEqual([]);
  });

  it('names setuid and setgid files, new or made so', async () => {
    const { workspace } = makeGround(['old', 'dir/x', 'before']);
    chmodSync(join(workspace, 'before'), 0o4755);
    const { findings } = await afterRun(workspace, () => {
      put(workspace, 'new');
      chmodSync(join(workspace, 'new'), 0o4755);
      chmodSync(join(workspace, 'old'), 0o6755);
      chmodSync(join(workspace, 'dir'), 0o2755);
    });
    expect(whysOf(findings, 'new')).toEqual(['setuid']);
    expect(whysOf(findings, 'old')).toEqual(['setuid', 'setgid']);
    expect(whysOf(findings, 'dir')).toEqual(['setgid-directory']);
    expect(whysOf(findings, 'before')).toEqual([]);
  });

  it('names fifos and sockets', async () => {
    const { workspace } = makeGround();
    const { findings } = await afterRun(workspace, async () => {
      makeFifo(join(workspace, 'fifo'));
      const server = createServer().listen(join(workspace, 'socket'));
      onTestFinished(() => void server.close());
      await new Promise((resolve) => server.once('listening', resolve));
    });
    expect(findings).toMatchObject([
      { path: 'fifo', why: 'fifo', severity: 'danger' },
      { path: 'socket', why: 'socket', severity: 'danger' },
    ]);
  });

  it.each(['block-device', 'character-device'] as const)('names a %s', (kind) => {
    const after = snapshotOf([entry('disk', kind)]);
    const findings = findingsIn(diffSnapshots(snapshotOf([]), after), after, '/workspace');
    expect(whysOf(findings, 'disk')).toEqual(['device']);
  });

  it('names a file that also has a name outside', async () => {
    const { outside, workspace } = makeGround(['old']);
    const { findings } = await afterRun(workspace, () =>
      linkSync(join(outside, 'secret'), join(workspace, 'new')),
    );
    expect(whysOf(findings, 'new')).toEqual(['hard-link-outside']);
    expect(whysOf(findings, 'old')).toEqual([]);
  });

  it('names a write through a name that was shared with the outside before', async () => {
    const { outside, workspace } = makeGround();
    linkSync(join(outside, 'secret'), join(workspace, 'shared'));
    const { findings } = await afterRun(workspace, () =>
      writeFileSync(join(workspace, 'shared'), 'overwritten'),
    );
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('overwritten');
    expect(whysOf(findings, 'shared')).toEqual(['hard-link-outside']);
  });

  it.each([
    ['two\nlines', 'control-name'],
    ['esc\x1b[2J', 'control-name'],
    ['c1\u009b2J', 'control-name'],
    ['gpj.\u202eexe', 'disguised-name'],
    ['README.md ', 'disguised-name'],
    ['zero\u200bwidth', 'disguised-name'],
  ])('names %j, which pretends', async (name, why) => {
    const { workspace } = makeGround();
    const { findings } = await afterRun(workspace, () => put(workspace, name));
    expect(findings.map((finding) => finding.why)).toEqual([why]);
    expect(findings[0]?.path).not.toMatch(/\p{C}/u);
  });

  it('has nothing to say about a backslash or another script', () => {
    expect(judge('back\\x5cslash', 'grün/日本語', 'with space')).toEqual([]);
  });

  it('lists dangers first', () => {
    expect(judge('Makefile', 'z/.envrc').map(({ path }) => path)).toEqual(['z/.envrc', 'Makefile']);
  });

  it('says that a part was not looked at', () => {
    const mount = { path: 'mnt', why: 'another-device' } as const;
    const cut = { path: 'big', why: 'too-large' } as const;
    const after = snapshotOf(
      [entry('mnt', 'directory', { dev: 2n }), entry('big', 'directory')],
      [mount, cut],
    );
    expect(findingsIn([], after, '/workspace')).toMatchObject([
      { path: 'big', why: 'unseen', severity: 'danger' },
      { path: 'mnt', why: 'mount', severity: 'notice' },
    ]);
    const fresh = findingsIn(diffSnapshots(snapshotOf([]), after), after, '/workspace');
    expect(whysOf(fresh, 'mnt')).toEqual(['unseen']);
  });
});

describe('findingsIn() of files that tools execute later', () => {
  it.each([
    '.git/hooks/pre-commit',
    '.git/config',
    '.git/modules/sub/hooks/post-checkout',
    '.git/modules/a/modules/b/config',
    '.git/worktrees/w/config.worktree',
    'vendor/lib/.git/config',
    '.GIT/Hooks/pre-commit',
    '.g\\xe2\\x80\\x8cit/config',
    '.gitmodules',
    '.gitattributes',
    '.claude/settings.json',
    '.mcp.json',
    '.vscode/tasks.json',
    '.envrc',
    '.npmrc',
    '.husky/pre-push',
    '.idea/workspace.xml',
    '.cursor/rules/a.mdc',
    'AGENTS.md',
    'docs/claude.md',
    '.github/workflows/ci.yml',
    '.github/copilot-instructions.md',
    '.devcontainer/devcontainer.json',
    '.bashrc',
    '.ssh/config',
    'venv/lib/python3/site-packages/evil.pth',
    'node_modules/x/.npmrc',
  ])('calls %s a danger', (path) => {
    expect(judge(path)).toMatchObject([{ path, why: 'runs-later', severity: 'danger' }]);
  });

  it.each([
    'Makefile',
    'MAKEFILE',
    'sub/rules.mk',
    'package.json',
    'tests/conftest.py',
    'pyproject.toml',
    'build.rs',
  ])('notices %s', (path) => {
    expect(judge(path)).toMatchObject([{ path, why: 'runs-later', severity: 'notice' }]);
  });

  it.each(['src/git/config', 'hooks/pre-commit', 'envrc', 'package.json.bak', 'node_modules/x/package.json'])(
    'leaves %s alone',
    (path) => {
      expect(judge(path)).toEqual([]);
    },
  );

  it.each(SENSITIVE.map(({ pattern }) => pattern))('speaks for a file of the pattern %s', (pattern) => {
    const path = pattern.replace('/**/', '/x/').replace(/\*\*$/, 'x').replaceAll('*', 'x');
    const after = snapshotOf([entry(path, 'file', { mode: 0o755 })]);
    const findings = findingsIn(diffSnapshots(snapshotOf([]), after), after, '/workspace');
    expect(findings).toMatchObject([{ path, why: 'runs-later' }]);
  });

  it('tells a script that may be executed from one that may not', async () => {
    const { workspace } = makeGround(['now.sh', 'not.sh']);
    const { findings } = await afterRun(workspace, () => {
      chmodSync(join(workspace, 'now.sh'), 0o755);
      writeFileSync(join(workspace, 'not.sh'), 'changed');
    });
    expect(findings.map(({ path }) => path)).toEqual(['now.sh']);
  });

  it('names a hook that was only made executable, and one that was swapped for an old file', async () => {
    const { workspace } = makeGround(['.git/hooks/pre-commit', '.git/hooks/pre-push', 'prepared']);
    const { findings } = await afterRun(workspace, () => {
      chmodSync(join(workspace, '.git/hooks/pre-commit'), 0o755);
      renameSync(join(workspace, 'prepared'), join(workspace, '.git/hooks/pre-push'));
    });
    expect(findings.map(({ path }) => path)).toEqual(['.git/hooks/pre-commit', '.git/hooks/pre-push']);
  });

  it('names a .git that became a file or a link', async () => {
    const { workspace } = makeGround(['elsewhere/HEAD', 'a/x', 'b/x']);
    const { findings } = await afterRun(workspace, () => {
      put(workspace, 'a/.git', 'gitdir: ../elsewhere');
      symlinkSync('../elsewhere', join(workspace, 'b/.git'));
    });
    expect(findings).toMatchObject([
      { path: 'a/.git', severity: 'danger' },
      { path: 'b/.git', severity: 'danger' },
    ]);
  });

  it('names the configuration and hooks of a repository that is not called .git', async () => {
    const { workspace } = makeGround(['docs/readme', 'docs/config']);
    const { findings } = await afterRun(workspace, () => {
      execFileSync('git', ['init', '--quiet', '--bare', '--template=', join(workspace, 'assets')]);
      put(workspace, 'assets/hooks/post-update', '');
      put(workspace, 'docs/config', 'changed');
    });
    expect(findings.map(({ path, severity }) => `${severity} ${path}`)).toEqual([
      'danger assets/config',
      'danger assets/hooks/post-update',
    ]);
    expect(findings[0]?.sentence).toContain('It is also reached as "assets/.git/config".');
  });

  it('names a file that a link of a trusted name leads to, also over other links', async () => {
    const { workspace } = makeGround(['scripts/pre-commit', 'env/dev', '.store/HEAD']);
    symlinkSync('.store', join(workspace, '.git'));
    symlinkSync('../scripts', join(workspace, '.store/hooks'));
    symlinkSync('env/dev', join(workspace, '.envrc'));
    const { findings } = await afterRun(workspace, () => {
      put(workspace, 'scripts/pre-commit', 'evil');
      put(workspace, 'env/dev', 'evil');
    });
    expect(findings.map(({ path, severity }) => `${severity} ${path}`)).toEqual([
      'danger env/dev',
      'danger scripts/pre-commit',
    ]);
  });

  it('does not lose the one file that matters among thousands that do not', () => {
    const noise = Array.from({ length: 20_000 }, (_, index) => `.aaa/${index}`);
    expect(judge(...noise, '.git/hooks/pre-commit').map(({ path }) => path)).toEqual([
      '.git/hooks/pre-commit',
    ]);
  });

  it('has nothing to say about what was removed', async () => {
    const { workspace } = makeGround(['.envrc', 'dir/.npmrc']);
    const { findings, changes } = await afterRun(workspace, () => {
      rmSync(join(workspace, '.envrc'));
      rmSync(join(workspace, 'dir'), { recursive: true });
      mkdirSync(join(workspace, '.vscode'));
    });
    expect(changes.length).toBe(4);
    expect(findings).toEqual([]);
  });
});

describe('the tables', () => {
  it('have a sentence in every row, and no pattern twice', () => {
    const rows = [...SENSITIVE, ...Object.values(FINDINGS)];
    expect(rows.filter(({ sentence }) => !/^[A-Za-z].*\.$/.test(sentence))).toEqual([]);
    expect(new Set(SENSITIVE.map(({ pattern }) => pattern.toLowerCase())).size).toBe(SENSITIVE.length);
  });
});
