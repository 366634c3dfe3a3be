import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isWithin } from '../../src/core/paths.ts';
import { pathsIn } from '../../src/runner/arguments.ts';
import type { ProcessInput } from '../../src/runner/input.ts';
import { type Answer, accept, ask, CANARY, type Host, makeHost, plainArguments, verdict } from './sample.ts';

const ENV = { PATH: '/usr/bin:/bin', LANG: 'C' };

function readOrEmpty(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** A command in Tier B, where nothing but the reading of its arguments keeps a path out. */
function askB(host: Host, input: Partial<ProcessInput>, settings = host.settings): Answer {
  return ask(host, { ...input, tier: 'b' }, settings);
}

/** What an attacker leaves in the workspace before the call. */
function plant({ workspace, outside, canary }: Host): void {
  mkdirSync(join(workspace, 'sub/deep'), { recursive: true });
  mkdirSync(join(outside, 'dir'));
  writeFileSync(join(workspace, 'plain.txt'), 'nothing\n');
  symlinkSync(canary, join(workspace, 'link.txt'));
  symlinkSync('sub/deep', join(workspace, 'inner'));
  symlinkSync(outside, join(workspace, 'door'));
  symlinkSync(join(outside, 'dir'), join(workspace, 'way'));
  symlinkSync('link.txt', join(workspace, 'chain'));
  symlinkSync(join(outside, 'not-yet'), join(workspace, 'dangling'));
  symlinkSync('../outside/not-yet', join(workspace, 'relative'));
  symlinkSync(canary, join(workspace, 'a:b'));
  symlinkSync(canary, join(workspace, '-dash'));
}

/** Readings of a real program, which gives the canary away when nobody checks its arguments. */
const READERS: readonly (readonly [how: string, command: string, args: (host: Host) => string[]])[] = [
  ['an absolute path', 'cat', ({ canary }) => [canary]],
  ['a slashless link', 'cat', () => ['link.txt']],
  ['a link to a link', 'cat', () => ['chain']],
  ['a link named like an option', 'cat', () => ['--', '-dash']],
  ['a link with a separator in its name', 'cat', () => ['a:b']],
  ['a path through a linked directory', 'cat', () => ['door/canary.txt']],
  ['parts that lead up', 'cat', () => ['sub/../../outside/canary.txt']],
  ['a link and then up, as the kernel reads it', 'cat', () => ['way/../canary.txt']],
  ['many slashes and dots', 'cat', () => ['.//sub/././/..//..///outside/./canary.txt']],
  ['key=value', 'dd', ({ canary }) => ['status=none', `if=${canary}`]],
  ['key=link', 'dd', () => ['status=none', 'if=link.txt']],
  ['--option=path', 'diff', ({ canary }) => [`--from-file=${canary}`, 'plain.txt']],
  ['--option=link', 'diff', () => ['--from-file=link.txt', 'plain.txt']],
  ['a path glued to a letter', 'date', ({ canary }) => [`-f${canary}`]],
  ['a link glued to a letter', 'date', () => ['-flink.txt']],
  ['a link glued to several letters', 'date', () => ['-uflink.txt']],
  ['an upward path glued to several letters', 'date', () => ['-uf../outside/canary.txt']],
];

/** Spellings that need a program of their own kind; what they lead to is checked by resolution alone. */
const SPELLINGS: readonly (readonly [how: string, args: (host: Host) => string[]])[] = [
  ['-I glued', ({ outside }) => [`-I${outside}`]],
  ['-I glued, upward', () => ['-I../outside']],
  ['letters glued to a path', ({ canary }) => [`-xvf${canary}`]],
  ['letters glued to an upward path', () => ['-xvf../outside/x']],
  ['letters glued to a link', () => ['-xvflink.txt']],
  ['letters glued to a new leaf below a link', () => ['-xvfdoor/new']],
  ['a long single-dash option', ({ outside }) => [`-isystem${outside}`]],
  ['a long option glued to a new leaf', ({ outside }) => [`-an-option-with-a-long-name${outside}/new`]],
  ['--out to a system file', () => ['--out=/etc/x']],
  ['-I to /etc', () => ['-I/etc']],
  ['--option=key=path', ({ canary }) => [`--opt=key=${canary}`]],
  ['--option=key=link', () => ['--opt=key=link.txt']],
  ['--option=list of words', ({ outside }) => [`CFLAGS=-O2 -I${outside}`]],
  ['@path', ({ canary }) => [`@${canary}`]],
  ['@link', () => ['@link.txt']],
  ['name=@path;type', ({ canary }) => [`file=@${canary};type=text/plain`]],
  ['name=<path', ({ canary }) => [`file=<${canary}`]],
  ['x:path', ({ canary }) => [`x:${canary}`]],
  ['a list with colons', ({ outside }) => [`lib:${outside}:sub`]],
  ['a list with commas', ({ outside }) => [`-Wl,-rpath,${outside}`]],
  ['a mount', ({ outside }) => [`${outside}:/mnt:ro`]],
  ['file URL', ({ canary }) => [`file://${canary}`]],
  ['file URL, one slash', ({ canary }) => [`file:${canary}`]],
  ['file URL, upper case and host', ({ canary }) => [`FILE://LocalHost${canary}`]],
  ['file URL, percent-encoded', ({ canary }) => [`file://${canary.replaceAll('/', '%2F')}`]],
  ['file URL, every byte encoded', ({ canary }) => [`file://${percent(canary)}`]],
  ['file URL to /etc/passwd', () => ['file:///etc/passwd']],
  ['file URL behind a plus', ({ outside }) => [`git+file://${outside}`]],
  ['file URL behind an equals sign, with a query', ({ canary }) => [`--url=file://${canary}?x#y`]],
  ['file URL, relative link', () => ['file:link.txt']],
  ['an unknown scheme', () => ['php://filter/resource=/etc/passwd']],
  ['the home of a user', () => ['~root/.ssh/id_rsa']],
  ['the home of a user, glued', () => ['--file=~root']],
  ['an unset variable before a path', () => ['$NOTHING/etc/passwd']],
  ['a braced variable and up', () => [`\${HOME}/../outside`]],
  ['a pattern outside', ({ outside }) => [`${outside}/*`]],
  ['a pattern that leads up', () => ['*/../../outside/canary.txt']],
  ['a pattern that matches a link', () => ['l?nk.*']],
  ['a pattern that matches a linked directory', () => ['doo[qr]/canary.txt']],
  ['a dangling link', () => ['dangling']],
  ['a relative dangling link', () => ['relative']],
  ['a new leaf below a link', () => ['door/new.txt']],
  ['a new tree below a link', () => ['door/new/tree/file']],
  ['a link and then up, as text', () => ['missing/../../outside/x']],
  ['a link that stays inside and then up, as text', () => ['inner/../../new']],
  ['the parent', () => ['..']],
  ['the root', () => ['/']],
  ['the processes', () => ['/proc/self/root/etc/passwd']],
  ['our own descriptors', () => ['/dev/fd/9']],
  ['a device of the host', () => ['/dev/mem']],
  ['the name of the workspace as a prefix', ({ workspace }) => [`${workspace}-other/x`]],
];

function percent(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

describe('termsOf() in tier B refuses arguments that leave the workspace (B16):', () => {
  it.each(READERS)('%s, which gives the canary away when it is not checked', (_, command, args) => {
    const host = makeHost();
    plant(host);
    const control = spawnSync(command, args(host), { cwd: host.workspace, encoding: 'utf8', env: ENV });
    expect(control.stdout + control.stderr).toContain(CANARY);
    expect(verdict(askB(host, { command, args: args(host) }))).toBe('runner/outside-workspace');
  });

  it.each(SPELLINGS)('%s', (_, args) => {
    const host = makeHost();
    plant(host);
    const result = askB(host, { args: args(host) });
    expect(result).toMatchObject({ ok: false, code: 'runner/outside-workspace' });
    expect(result).toMatchObject({
      message: expect.stringMatching(/^Cannot run the command: the argument ".*", expected /),
    });
  });

  it.each([
    ['a link glued to a letter', ['-olink.txt', 'plain.txt']],
    ['a dangling link', ['--output=dangling', 'plain.txt']],
    ['a new leaf below a link', ['--output', 'door/not-yet', 'plain.txt']],
  ])('%s, which writes outside when it is not checked', (_, args) => {
    const host = makeHost();
    plant(host);
    spawnSync('sort', args, { cwd: host.workspace, env: ENV });
    const written = [host.canary, join(host.outside, 'not-yet')].map((path) => readOrEmpty(path));
    expect(written).toContain('nothing\n');
    expect(verdict(askB(host, { command: 'sort', args }))).toBe('runner/outside-workspace');
  });

  it('a home outside the workspace', () => {
    const host = makeHost();
    const settings = { ...host.settings, home: host.outside };
    expect(verdict(askB(host, { args: ['--file=~/canary.txt'] }, settings))).toBe('runner/outside-workspace');
    expect(verdict(askB(host, { args: ['--file=~/x'] }))).toBe('ok');
  });

  it.each([
    ['another program under the name of one that opens nothing', 'echo', '/bin/cat'],
    ['a link to another program', 'printf', null],
  ])('%s', (_, name, copied) => {
    const host = makeHost();
    const program = join(host.workspace, name);
    if (copied === null) symlinkSync('/bin/cat', program);
    else copyFileSync(copied, program);
    const control = spawnSync(program, [host.canary], { encoding: 'utf8', env: ENV });
    expect(control.stdout).toBe(CANARY);
    expect(verdict(askB(host, { command: `./${name}`, args: [host.canary] }))).toBe(
      'runner/outside-workspace',
    );
    expect(verdict(askB(host, { command: name, args: [host.canary] }))).toBe('ok');
  });

  it.each<[string, string, (canary: string) => string[]]>([
    [
      'a file that an option puts in the place of the pattern',
      'grep',
      (canary) => ['', '-e', 'canary', canary],
    ],
    ['a file of patterns', 'grep', (canary) => ['-f', canary, 'plain.txt']],
    ['a file of patterns by a shortened option', 'grep', (canary) => ['--fil', canary, 'plain.txt']],
    ['a file behind an option that is not known', 'grep', (canary) => ['--no-such', 'canary', canary]],
    ['a file behind the program', 'sed', (canary) => ['p', canary]],
    ['a program in a file', 'awk', (canary) => ['-f', canary]],
    ['a file that find starts a program with', 'find', (canary) => ['.', '-exec', 'cat', canary, ';']],
    ['a file behind a launcher', 'env', (canary) => ['X=1', 'cat', canary]],
    ['a file behind a launcher with an unknown option', 'env', (canary) => ['--no-such', 'cat', canary]],
    ['a file in a line', 'sh', (canary) => ['-c', `echo x | cat ${canary}`]],
    ['a quoted file in a line', 'bash', (canary) => ['-lc', `cat "${canary}" 2>/dev/null`]],
    ['a file that a line writes', 'sh', (canary) => ['-c', `echo x >${canary}`]],
    ['a file in a substitution', 'sh', (canary) => ['-c', `echo "$(cat ${canary})"`]],
    ['a file in a line in a line', 'sh', (canary) => ['-c', `timeout 5 bash -c 'cat ${canary}'`]],
    ['a program in a line', 'sh', (canary) => ['-c', `${canary} x`]],
    ['the processes of others', 'cat', () => ['/proc/1/environ']],
    ['what a process has open', 'cat', () => ['/proc/self/fd/9']],
    ['the working directory of a process', 'cat', () => ['/proc/self/cwd/../x']],
  ])('%s', (_, command, args) => {
    const host = makeHost();
    plant(host);
    expect(verdict(askB(host, { command, args: args(host.canary) }))).toBe('runner/outside-workspace');
  });

  it('the value of a variable', () => {
    const host = makeHost({ envAllow: ['DATA'] });
    expect(askB(host, { env: { DATA: host.canary } })).toMatchObject({
      code: 'runner/outside-workspace',
      message: expect.stringContaining('the value "'),
    });
  });

  it('links that go in circles', () => {
    const host = makeHost();
    symlinkSync('b', join(host.workspace, 'a'));
    symlinkSync('a', join(host.workspace, 'b'));
    expect(verdict(askB(host, { args: ['a'] }))).toBe('runner/outside-workspace');
  });

  it('more meanings than can be looked at', () => {
    const host = makeHost();
    expect(askB(host, { args: ['a='.repeat(2000)] })).toMatchObject({
      code: 'runner/outside-workspace',
      message: expect.stringContaining('more paths than are looked at'),
    });
  });
});

describe('termsOf() in tier B accepts', () => {
  it.each([
    ['plain words', ['status', '--short', '-v', 'HEAD~1', 'main..feature/x', 'origin/main', 'a@{upstream}']],
    ['paths inside', ['sub/x.c', './sub/../plain.txt', '-Isub', '-Isub/deep', '-Lsub/lib', '--out=sub/new']],
    ['the system', ['-I/usr/include', '--prefix=/usr/local', '/bin/sh', '/etc/alternatives/awk']],
    [
      'devices',
      ['/dev/null', 'of=/dev/stdout', '/dev/stdin', '/dev/fd/0', '-o/dev/null', '/dev/tty', '/dev/fd'],
    ],
    ['what a process sees of itself', ['/proc/self/status', '/proc/self', '/proc/self/fd/1']],
    ['temporary files', ['/tmp', '/tmp/x', '--out=/tmp/a/b', '/tmp/../tmp/x']],
    [
      'what no one but root could create',
      ['/no-such-directory/x', '--route=/no-such-directory', 'a:/no-such-directory'],
    ],
    ['remote URLs', ['https://example.com/a/../b?x=/etc/passwd&y', 'ssh://git@example.com/srv/x.git']],
    ['a URL as a value', ['--url=https://example.com/x', '-uhttps://example.com/etc']],
    ['an address of a repository', ['git@example.com:group/project.git', '@scope/package']],
    ['texts', ['fix the path of /etc/passwd', 's/a/b/g', '{"a": [1, 2]}', 'a & b', '$5', '100%']],
    ['a pattern', ['*.c', 'sub/*', '[a-z]?']],
    ['links that stay inside', ['inner', 'inner/new', 'up/plain.txt']],
    ['empty words and dashes', ['', '-', '--', '---', '=', ':', '@', '~x~']],
  ])('%s', (_, args) => {
    const host = makeHost();
    plant(host);
    symlinkSync('..', join(host.workspace, 'sub/up'));
    symlinkSync('sub/..', join(host.workspace, 'up'));
    expect(askB(host, { args })).toMatchObject({ ok: true });
  });

  it('a path that the operator made readable, and the workspace by its own name', () => {
    const host = makeHost();
    const settings = { ...host.settings, readOnly: [host.outside] };
    expect(verdict(askB(host, { args: [host.canary, host.workspace] }, settings))).toBe('ok');
    expect(verdict(askB(host, { args: [`${host.outside}-2/x`] }, settings))).toBe('runner/outside-workspace');
  });

  it('and tells where every word leads', () => {
    const host = makeHost();
    symlinkSync('real.txt', join(host.workspace, 'alias.txt'));
    const { facts } = accept(host, { args: ['alias.txt', '--out=new/leaf', '-o', '/dev/null'] });
    expect(facts.paths).toEqual(
      expect.arrayContaining([
        join(host.workspace, 'real.txt'),
        join(host.workspace, 'new/leaf'),
        '/dev/null',
      ]),
    );
    expect(facts.paths).not.toContain(join(host.workspace, '-o'));
  });
});

describe('termsOf() in tier C', () => {
  it.each(SPELLINGS)('refuses nothing for %s, and tells the policies where it leads', (_, args) => {
    const host = makeHost();
    plant(host);
    const { facts } = accept(host, { args: args(host) });
    expect(facts.pathsTruncated).toBe(false);
    expect(facts.paths.some((path) => !isWithin(path, host.workspace))).toBe(true);
  });

  it('refuses like tier B where the operator wants it', () => {
    const host = makeHost();
    const settings = { ...host.settings, argumentPaths: 'refuse', envAllow: ['DATA'] } as const;
    expect(verdict(ask(host, { args: [host.canary] }, settings))).toBe('runner/outside-workspace');
    expect(verdict(ask(host, { args: ['a='.repeat(2000)] }, settings))).toBe('runner/outside-workspace');
    expect(verdict(ask(host, { env: { DATA: host.canary } }, settings))).toBe('runner/outside-workspace');
    expect(verdict(ask(host, { args: ['plain.txt'] }, settings))).toBe('ok');
  });

  it('says so where the arguments can mean more paths than are looked at, and lists the others', () => {
    const host = makeHost();
    const { facts } = accept(host, { args: [host.canary, 'a='.repeat(2000), '/etc/hosts'] });
    expect(facts).toMatchObject({
      pathsTruncated: true,
      paths: expect.arrayContaining([host.canary, '/etc/hosts']),
    });
    const nested = accept(host, { command: 'sh', args: ['-c', '$('.repeat(30)] });
    expect(nested.facts.pathsTruncated).toBe(true);
    expect(accept(host, { args: ['x'] }).facts.pathsTruncated).toBe(false);
  });

  it('tells the policies of the values of variables as of arguments', () => {
    const host = makeHost({ envAllow: ['DATA'] });
    expect(accept(host, { env: { DATA: host.canary } }).facts.paths).toContain(host.canary);
  });
});

describe('pathsIn()', () => {
  it('gives the argument, its meaning, where it leads and whether that is inside', () => {
    const { workspace, canary } = makeHost();
    symlinkSync(canary, join(workspace, 'link'));
    const { paths } = pathsIn(plainArguments('--opt=key=link'), {
      cwd: workspace,
      workspace,
      home: workspace,
      readOnly: [],
    });
    expect(paths).toContainEqual({
      argument: '--opt=key=link',
      meaning: 'link',
      resolved: canary,
      zone: 'outside',
    });
  });

  it('resolves from the working directory', () => {
    const { workspace } = makeHost();
    mkdirSync(join(workspace, 'sub'));
    const scope = { workspace, home: workspace, readOnly: [] };
    const at = (cwd: string) =>
      pathsIn(plainArguments('../x'), { ...scope, cwd }).paths.map(({ zone }) => zone);
    expect(at(join(workspace, 'sub'))).toEqual(['workspace']);
    expect(at(workspace)).toEqual(['outside']);
  });
});
