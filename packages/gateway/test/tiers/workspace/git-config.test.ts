import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { isDangerous, parseGitConfig, without } from '../../../src/tiers/workspace/git-config.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

const isWorkTree = (path: string) => path === '../../../sub';
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
    ['rebase.instructionformat', '%s%nexec evil'],
    ['rebase.later', 'x'],
    ['pull.twohead', 'evil'],
    ['branch.main.mergeoptions', '--strategy=evil'],
    ['core.worktree', '../.git'],
    ['core.protecthfs', 'false'],
    ['core.protectntfs', '0'],
    ['transfer.fsckobjects', 'false'],
    ['core.sharedrepository', '0666'],
    ['core.commentchar', 'e'],
    ['core.excludesfile', '/dev/zero'],
    ['core.excludesfile', 'a/../../x'],
    ['format.pretty', 'format:%x1b]0;x'],
    ['remote.o.url', 'foo://x'],
    ['remote.o.url', 'HTTPS://x'],
    ['remote.o.url', 'a+b.c::x'],
    ['remote.o.url', '-x'],
    ['remote.--upload-pack=evil.url', 'https://x.example/y'],
    ['remote.pushdefault', 'ext::sh -c evil'],
    ['extensions.partialclone', 'ext::sh -c evil'],
    ['alias.remote-foo', 'log'],
    ['alias.merge-foo', 'log'],
    ['alias.x', 'log --output=.git/config'],
    ['alias.x', 'log --outp .git/config'],
    ['alias.x', "log '--output=x'"],
    ['alias.x', 'log -"-output=x"'],
    ['alias.x', 'diff --ext-diff'],
    ['alias.x', 'rebase -x evil'],
    ['alias.x', 'fetch --upload-pack=evil'],
    ['alias.x', 'fetch ext::evil'],
    ['alias.x', 'fetch foo://x'],
    ['alias.x', 'config core.pager evil'],
    ['alias.x', 'log "a'],
    ['alias.x.command', 'log'],
  ])('counts %s = %s', (name, value) => {
    expect(isDangerous({ name, value }, isWorkTree)).toBe(true);
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
    ['core.worktree', '../../../sub'],
    ['core.protecthfs', 'true'],
    ['core.excludesfile', '.gitignore.local'],
    ['blame.ignorerevsfile', '.git-blame-ignore-revs'],
    ['format.pretty', 'fuller'],
    ['format.pretty', 'format:%h %an%n%s'],
    ['grep.linenumber', 'true'],
    ['am.threeway', 'true'],
    ['diff.indentheuristic', 'true'],
    ['color.diff.old', 'red bold'],
    ['color.ui', 'auto'],
    ['advice.detachedhead', 'false'],
    ['core.whitespace', '-trailing-space,tabwidth=4'],
    ['user.name', '\u00c5\u0081ukasz "L" O\'Neil'],
    ['branch.main.description', 'two\nlines'],
    ['maintenance.prefetch.schedule', 'hourly'],
    ['remote.origin.url', 'ssh://git@example.com:22/x.git'],
    ['remote.origin.url', 'file:///srv/x.git'],
    ['remote.origin.url', '/srv/a:b'],
    ['remote.origin.url', './a:b'],
    ['remote.origin.url', 'user@[::1]:x'],
    ['remote.origin.url', '\u00c3\u0080/x'],
    ['remote.origin.partialclonefilter', 'blob:none'],
    ['extensions.partialclone', 'origin'],
    ['remote.origin.tagopt', '--no-tags'],
    ['lfs.https://x.example/y.git/info/lfs.locksverify', 'true'],
    ['alias.co', 'checkout'],
    ['alias.unstage', 'reset HEAD --'],
    ['alias.last', 'log -1 HEAD --stat'],
    [
      'alias.lg',
      "log --graph --pretty=format:'%C(yellow)%h%Creset -%d %s (%cr)' --abbrev-commit --date=relative",
    ],
    ['alias.fix', 'commit --amend --no-edit'],
    ['alias.br', 'branch --sort=-committerdate -vv'],
    ['alias.up', 'pull --rebase --autostash origin main'],
    ['extensions.worktreeconfig', 'true'],
  ])('lets %s = %s pass', (name, value) => {
    expect(isDangerous({ name, value }, isWorkTree)).toBe(false);
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

  it('is fast for many entries, and does not read more than people write', () => {
    const many = `[x]\n${'a=1\n'.repeat(20_000)}`;
    const entries = parseGitConfig(many) ?? [];
    expect(entries).toHaveLength(20_000);
    expect(without(many, entries)).toBe(`[x]\n${'\n'.repeat(20_000)}`);
    expect(parseGitConfig(`${many}a=1\n`)).toBeNull();
    expect(parseGitConfig(`[a "${'x'.repeat(1_024)}"]\nb=1\n`)).toBeNull();
  });
});
