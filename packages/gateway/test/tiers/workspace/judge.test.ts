import { describe, expect, it } from 'vitest';
import { judgeText, resolveInside } from '../../../src/tiers/workspace/judge.ts';

const KINDS = new Map<string, 'file' | 'directory' | 'symlink'>([
  ['sub', 'directory'],
  ['sub/.git', 'file'],
  ['link', 'symlink'],
  ['link/.git', 'file'],
  ['plain', 'directory'],
  ['.git', 'directory'],
  ['.git/hooks', 'directory'],
  ['.git/hooks/.git', 'file'],
]);
const PLACE = {
  path: 'x',
  workspace: '/w',
  repositories: new Set(['.git', 'a/.git/worktrees/t']),
  before: null,
  kindOf: (path: string) => KINDS.get(path),
  contentsOf: () => [],
};
const judge = (kind: Parameters<typeof judgeText>[0], text: string, place: object = {}) =>
  judgeText(kind, Buffer.from(text), { ...PLACE, ...place });

describe('judgeText() of settings of an editor', () => {
  it.each([
    '',
    '{}',
    '{ // comment\n "editor.tabSize": 2, "files.exclude": { "**/x": true }, }',
    '{ "[python]": { "editor.defaultFormatter": "a.b" }, "cSpell.words": ["x"] }',
    '{ "version": "2.0.0", "tasks": [{ "label": "b", "type": "shell", "command": "make" }] }',
    '{ "tasks": [{ "label": "b", "runOptions": { "runOn": "default" } }] }',
    '{ "json.schemas": [{ "fileMatch": ["*.x.json"], "url": "./schemas/x.json" }, { "fileMatch": ["y"], "schema": {} }] }',
    '{ "folders": [{ "path": "." }], "settings": { "editor.tabSize": 4 }, "launch": { "configurations": [] } }',
  ])('lets %s pass', (text) => {
    expect(judge('vs-code', text)).toBe('harmless');
  });

  it.each([
    '{',
    '{ "python.defaultInterpreterPath": "x" }',
    '{ "[python]": { "python.envFile": "x" } }',
    '{ "go.goroot": "/w/evil" }',
    '{ "typescript.tsdk": "x" }',
    '{ "cmake.configureOnOpen": true }',
    '{ "json.schemas": [{ "url": "https://evil.example/x.json" }] }',
    '{ "json.schemas": [{ "url": "./../../x.json" }] }',
    '{ "json.schemas": [{ "url": "./x.json", "command": "evil" }] }',
    '{ "terminal.integrated.profiles.linux": {} }',
    '{ "task.allowAutomaticTasks": "on" }',
    '{ "chat.tools.autoApprove": true }',
    '{ "git\\u002epath": "x" }',
    '{ "tasks": [{ "label": "b", "runOptions": { "runOn": "folderOpen" } }] }',
    '{ "tasks": [{ "label": "b", "linux": { "runOptions": { "RUNON": "folderopen" } } }] }',
    '{ "folders": [], "settings": { "eslint.nodePath": "x" } }',
    '{ "lsp": { "rust-analyzer": { "binary": { "path": "x" } } } }',
  ])('counts %s', (text) => {
    expect(judge('vs-code', text)).toBe('dangerous');
  });

  it('judges files of JetBrains by what starts by itself', () => {
    expect(judge('idea', '<project><component name="ProjectRootManager"/></project>')).toBe('harmless');
    expect(judge('idea', '<component name="ProjectStartupLocalConfiguration"/>')).toBe('dangerous');
    expect(judge('idea', '<component name="Project&#83;tartup"/>')).toBe('dangerous');
    expect(judge('idea', '<option name="PATH_TO_GIT" value="$PROJECT_DIR$/evil"/>')).toBe('dangerous');
    expect(judge('idea', '<option name="myRunOnSave" value="true"/>')).toBe('dangerous');
    expect(judge('idea', '<project/>', { path: '.idea/startup.xml' })).toBe('dangerous');
    expect(judge('idea', Buffer.from('<project/>', 'utf16le').toString())).toBe('dangerous');
  });
});

describe('judgeText() of files of git and Mercurial', () => {
  it.each([
    ['a/.git', 'gitdir: ../.git\n', 'harmless'],
    ['t/.git', 'gitdir: /w/a/.git/worktrees/t\n', 'harmless'],
    ['t/.git', 'gitdir: /w/a/.git/worktrees/u\n', 'dangerous'],
    ['.git', 'gitdir: ../other/.git', 'dangerous'],
    ['.git', 'gitdir: /wider/.git', 'dangerous'],
    ['x/commondir', '../.git\n', 'harmless'],
    ['x/commondir', '../.git/evil\n', 'dangerous'],
    ['c/.git/objects/info/alternates', '/w/.git/objects\n', 'harmless'],
    ['c/.git/objects/info/alternates', '/w/.git/objects\n/etc\n', 'dangerous'],
  ])('judges %s with %j as %s', (path, text, judged) => {
    expect(judge('git-pointer', text, { path })).toBe(judged);
  });

  it('counts an entry of git configuration that was not there before, and keeps the rest', () => {
    const before = Buffer.from('[core]\n\tpager = mine\n');
    expect(judge('git-config', '[core]\n\tpager = mine\n\tbare = false\n', { before })).toBe('harmless');
    expect(judge('git-config', '[core]\n\tpager = evil\n\tbare = false\n', { before })).toEqual({
      rest: '[core]\n\t\n\tbare = false\n',
    });
    expect(judge('git-config', '[core\n')).toBe('dangerous');
  });

  it.each([
    ['.git/modules/sub/config', '../../../sub', 'harmless'],
    ['.git/modules/sub/config.worktree', '/w/sub', 'harmless'],
    ['.git/modules/sub/config', '../../../link', 'dangerous'],
    ['.git/modules/sub/config', '../../../plain', 'dangerous'],
    ['.git/modules/sub/config', '../../../none', 'dangerous'],
    ['.git/modules/sub/config', '../../hooks', 'dangerous'],
    ['.git/modules/sub/config', '../../../../sub', 'dangerous'],
    ['.git/config', '../sub', 'dangerous'],
    ['.git/config', '../.git', 'dangerous'],
  ])('judges a core.worktree in %s that is %s as %s', (path, value, judged) => {
    const rest = judge('git-config', `[core]\n\tworktree = ${value}\n`, { path });
    expect(rest).toEqual(judged === 'harmless' ? 'harmless' : { rest: '[core]\n\t\n' });
  });

  it('lets what a clone and people write into files of Jujutsu and asdf pass, and counts the rest', () => {
    expect(judge('jj-config', '[revset-aliases]\n"trunk()" = "main@origin"\n')).toBe('harmless');
    expect(judge('jj-config', '[user]\nname = "Ada"\n')).toBe('harmless');
    expect(judge('jj-config', 'ui.pager = "evil"\n')).toBe('dangerous');
    expect(judge('jj-config', '[user]\nname = "Ada"\n[ui]\n')).toBe('dangerous');
    expect(judge('tool-versions', '# mine\nnodejs 20.11.0 18.0.0 # old\n\npython 3.12\n')).toBe('harmless');
    expect(judge('tool-versions', 'nodejs path:./evil\n')).toBe('dangerous');
    expect(judge('tool-versions', 'nodejs ref:evil\n')).toBe('dangerous');
  });

  it('counts exec lines of a rebase, and every section of Mercurial but the paths', () => {
    expect(judge('git-todo', 'pick 1\nedit 2\n')).toBe('harmless');
    expect(judge('git-todo', 'pick 1\n x evil\n')).toBe('dangerous');
    expect(judge('hg-config', '# c\n[paths]\ndefault = https://x.example/r\n')).toBe('harmless');
    expect(judge('hg-config', '[hooks]\nupdate = evil\n')).toBe('dangerous');
    expect(judge('hg-config', '%include evil\n')).toBe('dangerous');
  });
});

describe('resolveInside()', () => {
  it.each([
    ['a/b', '../c', 'a/c'],
    ['', './x//y', 'x/y'],
    ['a', '/w/x', 'x'],
    ['a', '/w', ''],
    ['a', '../../x', null],
    ['a', '/wx', null],
    ['a', '/w/../x', null],
  ])('resolves %j and %j to %j', (directory, target, inside) => {
    expect(resolveInside(directory, target, '/w')).toBe(inside);
  });
});
