import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { isDangerous, parseGitConfig, without } from '../../../src/tiers/workspace/git-config.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

const inside = (path: string) => !path.startsWith('/') && !path.startsWith('..');
const names = (text: string) => parseGitConfig(text)?.map(({ name, value }) => `${name}=${value}`) ?? null;

/** What git itself reads; null where it refuses. */
function readByGit(text: string): string[] | null {
  const file = join(tempDir(), 'config');
  writeFileSync(file, Buffer.from(text, 'latin1'));
  try {
    const out = execFileSync('git', ['config', '--file', file, '--null', '--list'], {
      encoding: 'latin1',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const entries = out.split('\0').slice(0, -1);
    return entries.map((each) => (each.includes('\n') ? each.replace('\n', '=') : `${each}=true`));
  } catch {
    return null;
  }
}

describe('parseGitConfig()', () => {
  it.each([
    '[core]\n\tbare = false\n',
    '[core] fsmonitor = evil\n',
    '[CORE]\nFsMonitor=evil',
    '[remote "Origin \\"x\\""]\n url = a b  # comment\n',
    '[remote.Origin]\nurl = x\n',
    '[core]\nsshCommand = "a \\"b\\" # c" ; d\n',
    '[core]\npager = one \\\n  two\n',
    '[core]\nbare\n',
    '\u00ef\u00bb\u00bf[core]\nbare = true\n',
    '[core]\r\nbare = true\r\n',
    '[alias]\n st = !sh -c \\"x\\"\n',
    '[a]x=1\n[b]y=2[c]z=3\n',
  ])('reads %j as git does', (text) => {
    expect(names(text)).toEqual(readByGit(text));
    expect(names(text)).not.toBeNull();
  });

  it.each(['[core', '[core]\n1x = 1', '[core]\nx = "a', '[core]\nx = \\q', '[core]\n\0'])(
    'does not read %j, nor does git',
    (text) => {
      expect(names(text)).toBeNull();
      expect(readByGit(text)).toBeNull();
    },
  );

  it('does not read a key without a section, which git lets pass', () => {
    expect(names('bare = true')).toBeNull();
  });

  test('never misses an entry that git finds', () => {
    const piece = fc.constantFrom(
      ...[
        '[',
        ']',
        'core',
        '"',
        '\\',
        '\n',
        '\r',
        ' ',
        '\t',
        '=',
        '#',
        ';',
        'x',
        '.',
        '-',
        'fsmonitor',
        '"a"',
      ],
      ...['[core]', '[core "a"]', 'fsmonitor = e\n', '\\\n', '\\n', '\u00ef\u00bb\u00bf', '\u000b', '\u00a0'],
    );
    const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, (config) => {
        const ours = names(config);
        // What we cannot read is not trusted, so only a reading that differs would matter.
        if (ours !== null) expect(readByGit(config) ?? ours).toEqual(ours);
      }),
      { numRuns: volume(300, 60) },
    );
  });
});

describe('isDangerous()', () => {
  it.each([
    ['core.fsmonitor', 'evil'],
    ['core.hookspath', '.husky'],
    ['core.sshcommand', 'evil'],
    ['core.editor', 'evil'],
    ['core.pager', 'evil'],
    ['core.askpass', 'evil'],
    ['core.gitproxy', 'evil'],
    ['core.attributesfile', 'x'],
    ['core.worktree', '/home/me'],
    ['filter.x.clean', 'evil'],
    ['filter.x.smudge', 'evil'],
    ['filter.x.process', 'evil'],
    ['include.path', '../x'],
    ['includeif.gitdir:/.path', 'x'],
    ['alias.st', '!evil'],
    ['alias.st', 'rebase --exec evil'],
    ['alias.st', '-c core.pager=evil log'],
    ['credential.helper', 'evil'],
    ['credential.https://x.helper', 'evil'],
    ['diff.external', 'evil'],
    ['diff.x.textconv', 'evil'],
    ['diff.x.command', 'evil'],
    ['merge.x.driver', 'evil'],
    ['mergetool.x.cmd', 'evil'],
    ['gpg.program', 'evil'],
    ['gpg.ssh.defaultkeycommand', 'evil'],
    ['gc.recentobjectshook', 'evil'],
    ['trailer.x.cmd', 'evil'],
    ['tar.x.command', 'evil'],
    ['remote.o.uploadpack', 'evil'],
    ['remote.o.receivepack', 'evil'],
    ['remote.o.vcs', 'ext'],
    ['remote.o.url', 'ext::sh -c evil'],
    ['remote.o.pushurl', '--upload-pack=evil'],
    ['branch.main.remote', 'ext::sh -c evil'],
    ['url.ext::sh -c evil .insteadof', 'https://'],
    ['protocol.ext.allow', 'always'],
    ['submodule.x.update', '!evil'],
    ['submodule.x.url', 'ext::evil'],
    ['sequence.editor', 'evil'],
    ['pager.status', 'evil'],
    ['init.templatedir', 'x'],
    ['uploadpack.packobjectshook', 'evil'],
    ['some.later.key', 'x'],
  ])('counts %s = %s', (name, value) => {
    expect(isDangerous({ name, value }, inside)).toBe(true);
  });

  it.each([
    ['core.repositoryformatversion', '0'],
    ['core.filemode', 'true'],
    ['user.email', 'a@b'],
    ['remote.origin.url', 'https://example.com/x.git'],
    ['remote.origin.url', 'git@example.com:x/y.git'],
    ['remote.origin.url', '../a'],
    ['remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*'],
    ['branch.main.remote', 'origin'],
    ['branch.a.b.merge', 'refs/heads/a.b'],
    ['submodule.x.update', 'rebase'],
    ['pull.rebase', 'true'],
    ['alias.st', 'status --short'],
    ['core.worktree', 'sub'],
    ['extensions.worktreeconfig', 'true'],
  ])('lets %s = %s pass', (name, value) => {
    expect(isDangerous({ name, value }, inside)).toBe(false);
  });
});

describe('without()', () => {
  it('removes what it is told, wherever it stands, and nothing else', () => {
    const text =
      '[core] fsmonitor = evil ; why\n\tbare = false # x\n\tpager = a \\\n b\n[user]\n\tname = N\n';
    const evil = (parseGitConfig(text) ?? []).filter(({ name }) => /fsmonitor|pager/.test(name));
    const rest = without(text, evil) ?? '';
    expect(names(rest)).toEqual(['core.bare=false', 'user.name=N']);
    expect(rest).toContain('# x');
  });
});
