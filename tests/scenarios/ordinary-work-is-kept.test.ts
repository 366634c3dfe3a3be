import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { runScript } from '../fixtures/jail/index.ts';

/* What people have agents do all day touches protected files, and has to survive without a word. */

const ME = ['AUTHOR', 'COMMITTER'].map((who) => `export GIT_${who}_NAME=n GIT_${who}_EMAIL=n@example.com`);
const SETTINGS = '{ "editor.tabSize": 2, "[json]": { "editor.formatOnSave": true } }\n';
const TASKS = '{ "version": "2.0.0", "tasks": [{ "label": "build", "type": "shell", "command": "make" }] }\n';
const PROJECT = '<project version="4"><component name="ProjectRootManager" version="2"/></project>\n';

const WORK: readonly (readonly [name: string, script: string])[] = [
  ['git init and a commit', 'git init -q a; cd a; echo 1 > f; git add f; git commit -qm one'],
  ['who commits', 'git -C a config user.name Ada; git -C a config user.email ada@example.com'],
  [
    'a clone',
    'git clone -q a b; git clone -q --bare a c.git; git clone -q --shared a d; git clone -q --mirror a m',
  ],
  [
    'a remote',
    'git -C a remote add up https://example.com/x.git; git -C a remote set-url up git@example.com:x/y',
  ],
  [
    'settings of a repository',
    `cd a; touch .ignore .revs; git config commit.gpgsign false; git config pull.rebase true; git config core.excludesFile .ignore; git config blame.ignoreRevsFile .revs; git config format.pretty oneline; git config grep.lineNumber true; git config am.threeWay true; git config diff.indentHeuristic true; git config color.diff.old 'red bold'; git config alias.lg "log --graph --format='%h %s'"; git sparse-checkout set --cone x; git sparse-checkout disable; git maintenance run --quiet; git config uploadpack.allowFilter true; git clone -q --depth=1 --filter=blob:none "file://$PWD" ../partial`,
  ],
  ['a branch that tracks another', 'git -C b branch --track t origin/HEAD; git -C b switch -q t'],
  [
    'a merge, a stash and a rebase',
    'cd b; echo 2 > g; git add g; git stash -q; git stash pop -q; git commit -qm g; git switch -q -c u HEAD~1; git rebase -q t; git merge -q t',
  ],
  ['a worktree', 'git -C a worktree add -q ../w; cd w; echo 3 > h; git add h; git commit -qm h'],
  [
    'a submodule',
    'cd b; git -c protocol.file.allow=always submodule --quiet add ../a sub; git commit -qm sub',
  ],
  ['a fetch, a push and a collection', 'cd b; git fetch -q; git push -q origin t; git gc -q'],
  [
    'a clone of a project with CI files and hook managers',
    'git init -q p; cd p; mkdir -p .github/workflows .husky; echo on > .github/workflows/ci.yml; echo x > .husky/pre-commit; echo x > .gitlab-ci.yml; echo x > .pre-commit-config.yaml; git add .; git commit -qm ci; cd ..; git clone -q p q; git -C q diff --exit-code',
  ],
  [
    'an index of every kind',
    'git init -q i; cd i; mkdir d e; echo 1 > d/f; echo 2 > e/f; git add .; git commit -qm i; git update-index --index-version 4; git -c index.threads=2 add .; git update-index --split-index; echo 3 > g; git add g; git commit -qm g; git update-index --no-split-index; git sparse-checkout set --cone --sparse-index d; git clone -q . ../index; cd ../index; git init -q --object-format=sha256 ../sha256; cd ../sha256; echo 4 > h; git add h; git commit -qm h',
  ],
  [
    'a worktree of a project with CI files and hook managers',
    'git -C p worktree add -q ../pw; git -C pw diff --exit-code',
  ],
  ['the same names again', 'rm -rf b; git clone -q a b'],
  ['npm init', 'mkdir n; cd n; npm init --yes --silent'],
  [
    'npm install',
    'mkdir -p $TMPDIR/dep; cd $TMPDIR/dep; npm init --yes --silent; mkdir -p .vscode .github/workflows bin; echo x > .vscode/tasks.json; echo x > .github/workflows/ci.yml; npm pack --silent; cd $OLDPWD/n; npm install --silent --offline --no-audit $TMPDIR/dep/dep-1.0.0.tgz',
  ],
  ['a virtual environment', 'python3 -m venv --without-pip v; v/bin/python -c pass'],
  [
    'project files of editors',
    `mkdir -p e/.vscode e/.idea; cd e; printf '%s' '${SETTINGS}' > .vscode/settings.json; printf '%s' '${TASKS}' > .vscode/tasks.json; echo '{"recommendations":["a.b"]}' > .vscode/extensions.json; printf '%s' '${PROJECT}' > .idea/misc.xml; printf '%s' '${PROJECT}' > .idea/modules.xml; echo x > .idea/.gitignore; echo x > e.iml`,
  ],
  [
    'build files',
    'mkdir x; cd x; echo nodejs 20.11.0 > .tool-versions; touch Makefile CMakeLists.txt pyproject.toml Dockerfile conftest.py .env .npmrc .gitignore .gitattributes .editorconfig',
  ],
];

describe('ordinary work', () => {
  const jail = sharedGateway();

  test.each(WORK)('%s survives, and nothing is said of it', async (_, script) => {
    const end = await runScript(jail, `set -e\n${ME.join('\n')}\n${script}\n`, {
      limits: { wall_ms: 60_000 },
    });
    expect(end.output?.stderr.replace(/^hint:.*\n/gm, ''), end.message).toBe('');
    expect(end.code).toBe('ok');
    expect(end.output?.findings).toEqual([]);
    expect(end.execution?.isolation).toMatchObject({ protected_files: 'held' });
    expect(end.execution?.isolation).not.toHaveProperty('set_aside');
  });

  test('is there afterwards, as it was written', () => {
    const text = (path: string) => readFileSync(join(jail.workspace, path), 'utf8');
    expect(text('e/.vscode/settings.json')).toBe(SETTINGS);
    expect(text('e/.idea/misc.xml')).toBe(PROJECT);
    expect(text('n/node_modules/dep/.vscode/tasks.json')).toBe('x\n');
    const git = (...words: string[]) => spawnSync('git', words, { cwd: jail.workspace, encoding: 'utf8' });
    expect(git('-C', 'a', 'remote', 'get-url', 'up').stdout).toBe('git@example.com:x/y\n');
    expect(git('-C', 'w', 'status', '--short').stdout).toBe('');
    expect(git('-C', 'q', 'status', '--short').stdout).toBe('');
    expect(text('q/.github/workflows/ci.yml')).toBe('on\n');
    expect(git('-C', 'a', 'fsck').status).toBe(0);
  });
});
