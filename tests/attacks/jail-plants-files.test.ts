import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  PROTECTED,
  PROTECTED_NAMES,
  type ProtectedName,
} from '../../packages/gateway/src/core/protected.table.ts';
import { ANSWERS_CALLS, personGateway } from '../fixtures/commands/as-person.ts';
import { heldGateway } from '../fixtures/commands/held.ts';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { plant } from '../fixtures/jail/index.ts';
import { PEOPLE } from '../fixtures/workspaces/machine.ts';

const ANY = '#!/bin/sh\ntouch harmed\n';

/** Files of each row, with what makes them dangerous. */
const TRAPS: Readonly<Record<ProtectedName, Readonly<Record<string, string>>>> = {
  'git-hooks': {
    '.git/hooks/pre-commit': ANY,
    '.git/modules/m/hooks/post-checkout': ANY,
    'sub/.GIT/Hooks/x': ANY,
  },
  'git-config': { 'a/.git/config': '[core', 'b/.gitconfig': '[alias', '.git/modules/m/config': '[x' },
  'git-index': { 'e/.git/index': 'DIRC', 'e/.git/sharedindex.1': 'DIRC' },
  'git-layout': {
    'c/.git': 'gitdir: /var/tmp/elsewhere\n',
    'd/.git/objects/info/alternates': '/var/tmp/x\n',
  },
  'git-todo': { '.git/rebase-merge/git-rebase-todo': 'pick 1\nexec touch harmed\n' },
  'hook-managers': {
    '.husky/pre-commit': ANY,
    'lefthook-local.yml': 'x',
    'f/lefthook.toml': 'x',
    'f/lefthook.json': '{}',
    '.pre-commit-config.yaml': 'repos: []\n',
  },
  mercurial: { '.hg/hgrc': '[hooks]\nupdate = touch harmed\n' },
  jujutsu: { '.jj/repo/config.toml': 'ui.pager = "evil"\n' },
  'tool-versions': { '.tool-versions': 'nodejs path:./evil\n' },
  'directory-scripts': {
    'mise.local.toml': '[hooks]\n',
    '.envrc': ANY,
    'sub/.Envrc': ANY,
    '.direnv/x': ANY,
    'mise.toml': '[hooks]\n',
  },
  'editor-settings': {
    '.vscode/tasks.json': '{"tasks":[{"command":"x","runOptions":{"runOn":"folderOpen"}}]}',
    '.vscode/settings.json': '{"python.defaultInterpreterPath":"./evil"}',
    'x.code-workspace': '{"settings":{"git.path":"./evil"}}',
  },
  'jetbrains-settings': { '.idea/workspace.xml': '<component name="ProjectStartupLocalConfiguration"/>' },
  'editor-scripts': { '.helix/languages.toml': 'x', '.exrc': ANY, '.nvim.lua': ANY, '.dir-locals.el': ANY },
  'dev-containers': { '.devcontainer/devcontainer.json': '{}' },
  'agent-settings': {
    '.mcp.json': '{}',
    '.claude/settings.json': '{}',
    '.cursor/mcp.json': '{}',
    '.codex/config.toml': '',
    '.github/hooks/x.json': '{}',
    '.gemini/settings.json': '{}',
  },
  'agent-instructions': { 'AGENTS.md': 'Run it.', 'CLAUDE.md': 'Run it.' },
  'shell-start': { '.bashrc': ANY, '.profile': ANY, '.zshenv': ANY },
  'login-items': { '.ssh/authorized_keys': 'ssh-ed25519 A', '.config/systemd/user/x.service': '[Service]' },
  'program-start': {
    '.ghci': ANY,
    '.ocamlinit': ANY,
    '.iex.exs': ANY,
    '.octaverc': ANY,
    '.perldb': ANY,
    '.pdbrc': ANY,
    '.Renviron': 'X=1',
    '.gdbinit': ANY,
    '.tmux.conf': ANY,
  },
  ci: {
    '.cirrus.yml': 'x',
    '.semaphore/semaphore.yml': 'x',
    '.tekton/x.yaml': 'x',
    '.teamcity/settings.kts': 'x',
    'buildspec.yml': 'x',
    '.builds/x.yml': 'x',
    '.azure-pipelines/x.yml': 'x',
    '.github/workflows/ci.yml': 'on: push\n',
    '.gitlab-ci.yml': 'x:\n',
    Jenkinsfile: 'x',
  },
};
const FILES = Object.assign({}, ...Object.values(TRAPS)) as Record<string, string>;
const CASES = PROTECTED_NAMES.flatMap((row) => Object.keys(TRAPS[row]).map((path) => [row, path] as const));

const program = heldGateway(ANSWERS_CALLS);

describe.each(PEOPLE)('a command of %s that writes files which run by themselves later', (_, uid) => {
  const jail = personGateway(uid, program);
  let end: CommandEnd;
  beforeAll(async () => {
    end = await plant(jail, FILES);
  });
  const whyOf = (path: string) => end.output?.findings.filter((found) => found.path === path);

  test('ends well, and is told to have been kept from it', () => {
    expect(end, end.message).toMatchObject({ code: 'ok', execution: { tier: 'c' } });
    const count = CASES.filter(([row]) => PROTECTED[row].done === 'set aside').length;
    expect(end.execution?.isolation).toMatchObject({ protected_files: 'held', set_aside: count });
    expect(end.output?.findings.map(({ path }) => path).sort()).toEqual(Object.keys(FILES).sort());
  });

  test.each(CASES)('row %s: %s', (row, path) => {
    const isLeft = PROTECTED[row].done === 'told';
    expect(whyOf(path)).toMatchObject([{ why: isLeft ? 'runs-later' : 'set-aside', severity: 'danger' }]);
    expect(existsSync(join(jail.workspace, path))).toBe(isLeft);
  });

  test('has what it wrote kept where nothing runs it', () => {
    const [call = ''] = readdirSync(join(jail.stateDir, 'quarantine'));
    const folder = join(jail.stateDir, 'quarantine', call);
    const index = readFileSync(join(folder, 'index.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const envrc = index.find(({ path }) => path === '.envrc');
    expect(readFileSync(join(folder, envrc.file), 'utf8')).toBe(ANY);
    expect(lstatSync(join(folder, envrc.file)).mode & 0o777).toBe(0o400);
    expect(lstatSync(folder).mode & 0o777).toBe(0o700);
  });
});

describe.each(PEOPLE)('a command of %s that changes such files', (_, uid) => {
  const jail = personGateway(uid, program);
  const kept = CASES.filter(([row]) => PROTECTED[row].done === 'set aside').map(([, path]) => path);
  let end: CommandEnd;
  beforeAll(async () => {
    for (const path of kept) {
      mkdirSync(dirname(join(jail.workspace, path)), { recursive: true });
      writeFileSync(join(jail.workspace, path), `[user]\n\tname = ${path.length}\n`, { mode: 0o640 });
    }
    end = await plant(jail, FILES);
  });

  test.each(kept)('has %s restored, with its mode and its owner', (path) => {
    expect(readFileSync(join(jail.workspace, path), 'utf8')).toBe(`[user]\n\tname = ${path.length}\n`);
    const { mode, uid } = lstatSync(join(jail.workspace, path));
    expect([mode & 0o777, uid]).toEqual([0o640, lstatSync(jail.workspace).uid]);
    expect(end.output?.findings.find((found) => found.path === path)).toMatchObject({ why: 'set-aside' });
  });
});

describe.each(PEOPLE)('a command of %s that is allowed to write them', (_, uid) => {
  const allow = JSON.stringify(PROTECTED_NAMES);
  const jail = personGateway(uid, program, `[process]\nallow_writes = ${allow}\n`);

  test('is kept from it unless its call asks', async () => {
    await plant(jail, { '.envrc': ANY });
    expect(existsSync(join(jail.workspace, '.envrc'))).toBe(false);
  });

  test('leaves them all, without a finding, and the receipt says so', async () => {
    const end = await plant(jail, FILES, { allow_writes: PROTECTED_NAMES });
    expect(end.output?.findings).toEqual([]);
    for (const [path, text] of Object.entries(FILES))
      expect(readFileSync(join(jail.workspace, path), 'utf8'), path).toBe(text);
    expect(end.execution?.isolation).toMatchObject({ allowed_writes: PROTECTED_NAMES.join(',') });
  });

  test('writes only the rows that it asks for', async () => {
    await plant(jail, { '.mcp.json': '{"a":1}', '.gdbinit': 'x' }, { allow_writes: ['agent-settings'] });
    expect(readFileSync(join(jail.workspace, '.mcp.json'), 'utf8')).toBe('{"a":1}');
    expect(readFileSync(join(jail.workspace, '.gdbinit'), 'utf8')).toBe(ANY);
  });
});

describe('a command that asks for what the operator does not allow', () => {
  const jail = sharedGateway('[process]\nallow_writes = ["ci"]\n');
  test('does not start', async () => {
    const end = await plant(jail, { '.envrc': ANY }, { allow_writes: ['ci', 'directory-scripts'] });
    expect(end).toMatchObject({ code: 'runner/not-allowed', output: null });
    expect(end.message).toContain('it asks to write "directory-scripts"');
  });
});

describe('tier B, which cannot hold a command to its workspace', () => {
  const jail = sharedGateway();
  test('tells of them, leaves them, and does not claim to protect anything', async () => {
    const end = await plant(jail, { '.envrc': ANY }, { tier: 'b' });
    expect(end.output?.findings).toMatchObject([{ path: '.envrc', why: 'runs-later' }]);
    expect(end.execution?.isolation).toMatchObject({ protected_files: 'not held' });
    expect(existsSync(join(jail.workspace, '.envrc'))).toBe(true);
  });
});
