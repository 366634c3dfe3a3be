import { chmodSync, mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { accept, ask, type Host, makeDeps, makeHost, verdict } from './sample.ts';

function withRoots(host: Host, ...workspaceRoots: string[]): Host {
  return { ...host, settings: { ...host.settings, workspaceRoots } };
}

describe('termsOf() and the workspace', () => {
  it('takes a root, what is below it, and a link that leads there, by its canonical name', () => {
    const host = makeHost();
    const project = join(host.workspace, 'project');
    mkdirSync(project);
    symlinkSync(project, join(host.root, 'alias'));
    expect(accept(host, {}).terms.workspace).toBe(host.workspace);
    expect(accept(host, { workspace: project }).terms).toMatchObject({ workspace: project, cwd: project });
    expect(accept(host, { workspace: join(host.root, 'alias') }).terms.workspace).toBe(project);
  });

  it.each<[string, (host: Host) => string]>([
    ['a directory beside the roots', ({ outside }) => outside],
    ['a name that begins like a root', ({ workspace }) => `${workspace}-other`],
    ['the parent of a root', ({ root }) => root],
    ['a way up', ({ workspace }) => `${workspace}/../outside`],
    ['a link in a root that leads out', ({ workspace }) => join(workspace, 'door')],
    ['a relative path', () => 'workspace'],
    ['a file', ({ workspace }) => join(workspace, 'file')],
    ['nothing', ({ workspace }) => join(workspace, 'missing')],
  ])('refuses %s', (_, name) => {
    const host = makeHost();
    mkdirSync(`${host.workspace}-other`);
    writeFileSync(join(host.workspace, 'file'), '');
    symlinkSync(host.outside, join(host.workspace, 'door'));
    expect(verdict(ask(host, { workspace: name(host) }))).toBe('runner/invalid-workspace');
  });

  it.each([
    '/',
    '/home',
    '/usr',
    '/etc',
    '/tmp',
    '/var',
    '/proc',
    '/proc/self',
    '/dev',
    '/usr/bin',
    '/opt',
    '/root',
  ])('refuses %s even where the operator made it a root', (workspace) => {
    const host = withRoots(makeHost(), '/');
    expect(verdict(ask(host, { workspace }))).toBe('runner/invalid-workspace');
  });

  it.each([
    ...[
      '.git',
      '.git/hooks',
      '.git/hooks/deep',
      '.GIT/hooks',
      '.git/modules/x',
      '.github',
      '.github/workflows',
    ],
    ...[
      '.husky',
      '.husky/_',
      '.vscode',
      '.claude',
      '.claude/skills',
      '.config',
      '.config/mise',
      'sub/.githooks',
    ],
    ...['bare/hooks', 'bare/worktrees/w'],
  ])('refuses %s of a project, where every file would run by itself', (place) => {
    const host = makeHost();
    for (const part of ['HEAD', 'objects', 'refs'])
      mkdirSync(join(host.workspace, 'bare', part), { recursive: true });
    const workspace = join(host.workspace, place);
    mkdirSync(workspace, { recursive: true });
    expect(verdict(ask(host, { workspace }))).toBe('runner/invalid-workspace');
    expect(ask(host, { workspace })).toMatchObject({
      remedy: expect.stringMatching(/top directory of the project/),
    });
  });

  it.each(['.github/docs', '.config/app', 'library', 'Jenkinsfiles', 'hooks', 'bare'])(
    'takes %s of a project, where other files are too',
    (place) => {
      const host = makeHost();
      for (const part of ['HEAD', 'objects', 'refs'])
        mkdirSync(join(host.workspace, 'bare', part), { recursive: true });
      const workspace = join(host.workspace, place);
      mkdirSync(workspace, { recursive: true });
      expect(accept(host, { workspace }).terms.workspace).toBe(workspace);
    },
  );

  it('refuses the state directory, its parents and its parts, and the home of the gateway', () => {
    const host = withRoots(makeHost(), '/');
    const state = host.stateDir;
    mkdirSync(join(state, 'keys'));
    symlinkSync(state, join(host.workspace, 'alias'));
    const { home } = host;
    mkdirSync(join(home, 'project'));
    for (const workspace of [state, host.root, join(state, 'keys'), join(host.workspace, 'alias'), home]) {
      expect(verdict(ask(host, { workspace })), String(workspace)).toBe('runner/invalid-workspace');
    }
    expect(verdict(ask(host, { workspace: join(home, 'project') }))).toBe('ok');
  });

  it('sees a state directory in the workspace that does not exist yet', () => {
    const host = makeHost();
    const deps = makeDeps(host.settings, join(host.workspace, 'not/yet'), '/nonexistent');
    expect(verdict(ask({ ...host, deps }, {}))).toBe('runner/invalid-workspace');
  });

  it('does not tell what exists outside of the roots', () => {
    const host = makeHost();
    mkdirSync(join(host.outside, 'there'));
    symlinkSync(host.outside, join(host.workspace, 'door'));
    const answer = (name: string, base: string) => {
      const answered = ask(host, { workspace: join(base, name) });
      return answered.ok ? 'ok' : answered.message.replace(name, 'NAME');
    };
    for (const base of [host.outside, join(host.workspace, 'door')]) {
      expect(answer('missing', base)).toBe(answer('there', base));
      expect(answer('canary.txt', base)).toBe(answer('there', base));
    }
    // The control: inside, it does.
    expect(answer('missing', host.workspace)).toContain('cannot be opened (ENOENT)');
  });

  it('refuses a call that names none where there is no default, and says what to do', () => {
    const host = makeHost({ defaultWorkspace: null });
    expect(ask(host, {})).toMatchObject({
      code: 'runner/invalid-workspace',
      remedy: expect.stringMatching(/process\.workspaces/),
    });
    expect(verdict(ask(makeHost({ workspaceRoots: [] }), {}))).toBe('runner/invalid-workspace');
  });

  it('tells which directory it was, for the tier to compare', () => {
    const host = makeHost();
    chmodSync(host.workspace, 0o750);
    const { dev, ino, uid, gid } = statSync(host.workspace, { bigint: true });
    expect(accept(host, {}).facts.seen.workspace).toMatchObject({
      path: host.workspace,
      dev,
      ino,
      uid: Number(uid),
      gid: Number(gid),
    });
  });
});

describe('termsOf() and the working directory', () => {
  it('takes a directory inside, relative or absolute', () => {
    const host = makeHost();
    const deep = join(host.workspace, 'a/b');
    mkdirSync(deep, { recursive: true });
    symlinkSync('a/b', join(host.workspace, 'inner'));
    for (const cwd of ['a/b', deep, 'a/../a/b', 'inner']) expect(accept(host, { cwd }).terms.cwd).toBe(deep);
    expect(realpathSync(deep)).toBe(deep);
  });

  it.each<[string, (host: Host) => string]>([
    ['the parent', () => '..'],
    ['an absolute path outside', ({ outside }) => outside],
    ['a link that leads out', () => 'door'],
    ['a path through such a link', () => 'door/dir'],
    ['a link and up', () => 'door/../workspace/../outside'],
    ['a file', () => 'file'],
    ['nothing', () => 'missing'],
  ])('refuses %s', (_, cwd) => {
    const host = makeHost();
    mkdirSync(join(host.outside, 'dir'));
    writeFileSync(join(host.workspace, 'file'), '');
    symlinkSync(host.outside, join(host.workspace, 'door'));
    expect(verdict(ask(host, { cwd: cwd(host) }))).toBe('runner/outside-workspace');
  });
});
