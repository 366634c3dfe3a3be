import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';

/*
 * An argument leads out of the workspace. In tier B each spelling is refused, and nothing is started; in tier C the
 * command starts, and the kernel keeps it out. The readers are real.
 */

const gateway = sharedGateway();
const { workspace } = gateway;
const outside = mkdtempSync('/var/tmp/palisade-outside-');
const canary = join(outside, 'canary.txt');
const SECRET = 'canary-of-the-outside';

beforeAll(() => {
  writeFileSync(canary, `${SECRET}\n`, { mode: 0o644 });
  mkdirSync(join(workspace, 'sub'));
  writeFileSync(join(workspace, 'plain.txt'), 'inside\n');
  symlinkSync(canary, join(workspace, 'link.txt'));
  symlinkSync(outside, join(workspace, 'door'));
  symlinkSync(join(outside, 'new'), join(workspace, 'dangling'));
});
afterAll(() => rmSync(outside, { recursive: true }));

/** Up from the workspace to the root, and down again. */
const up = `${'../'.repeat(workspace.split('/').length - 1)}${canary.slice(1)}`;

/** Programs that give the canary away when nobody looks at their arguments. */
const READERS: readonly (readonly [string, string, readonly string[]])[] = [
  ['an absolute path', 'cat', [canary]],
  ['a link without a slash', 'cat', ['link.txt']],
  ['a path through a linked directory', 'cat', ['door/canary.txt']],
  ['a path that leads up', 'cat', [`sub/../${up}`]],
  ['key=path', 'dd', ['status=none', `if=${canary}`]],
  ['a path behind a letter', 'date', [`-f${canary}`]],
  ['a link behind a letter', 'date', ['-flink.txt']],
  ['an option with a path', 'sort', [`--files0-from=${canary}`]],
  ['a file of options', 'cc', [`@${canary}`]],
  ['a URL of a file', 'curl', ['-s', `file://${canary}`]],
];

test.each(READERS)('%s starts nothing in tier B', async (_, command, args) => {
  const end = await gateway.run({ command, args, tier: 'b' });
  expect(end).toMatchObject({ code: 'runner/outside-workspace', output: null });
  // The control: the program itself gives away what it reads, in its output or in its complaint.
  const { stdout, stderr } = spawnSync(command, args, {
    cwd: workspace,
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  });
  expect(stdout + stderr).toContain(SECRET);
});

/** The same act upon a file that the command may read. */
function inside(args: readonly string[]): string[] {
  const plain = join(workspace, 'plain.txt');
  return args.map((arg) =>
    arg
      .replace(up, 'plain.txt')
      .replace(canary, plain)
      .replace(/link\.txt|door\/canary\.txt/, 'plain.txt'),
  );
}

test.each(READERS)('%s shows nothing of the outside in tier C', async (_, command, args) => {
  const end = await gateway.run({ command, args, tier: 'c' });
  expect(end.execution).toMatchObject({ tier: 'c', isolation: { boundary: 'bubblewrap' } });
  expect(JSON.stringify(end)).not.toContain(SECRET);
  // The control: with a file of the workspace, the same command in the same tier gives its content away.
  const control = await gateway.run({ command, args: inside(args), tier: 'c' });
  expect(`${control.output?.stdout}${control.output?.stderr}`).toContain('inside');
});

/** Spellings that are judged by where they lead, whatever program would read them. */
const SPELLINGS = [
  ...[
    '--out=/etc/x',
    '-I/etc',
    '@/etc/passwd',
    'file:///etc/passwd',
    'FILE:/etc/passwd',
    'file:%2Fetc%2Fpasswd',
  ],
  ...[
    '~root',
    '~root/.ssh',
    '$HOME/../../../etc/passwd',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what a shell would expand.
    '${HOME}/../../x',
    '$UNSET/etc/shadow',
    'door/*',
    '/etc/*',
  ],
  ...[
    'sub/../../x',
    '..',
    'dangling',
    '--opt=key=/etc/x',
    'x:/etc/passwd',
    'a,b,/etc/x',
    '-Wl,-T,/etc/x',
    '/proc/1/environ',
    '/proc/self/root/etc/passwd',
  ],
  ...[
    '/dev/mem',
    '/sys/kernel',
    'link.txt',
    '--file=link.txt',
    'k=link.txt',
    '@link.txt',
    '-xflink.txt',
    'door',
    './door/.',
  ],
];

test.each(SPELLINGS)('the argument %j starts nothing in tier B', async (arg) => {
  const end = await gateway.run({ command: 'true', args: ['first', arg], tier: 'b' });
  expect(end).toMatchObject({ code: 'runner/outside-workspace', output: null });
});

test.each(['cwd', 'workspace'])('a %s outside starts nothing', async (key) => {
  for (const path of ['/etc', '/', outside, join(workspace, 'door'), `${workspace}/..`]) {
    const end = await gateway.run({ command: 'true', tier: 'b', [key]: path });
    expect(end.code).toMatch(/^runner\/(outside-workspace|invalid-workspace)$/);
  }
});

test('no shell reads the words, and what stays inside runs', async () => {
  const args = ['$(id)', '`id`', '; id', '| id', '&& id', '-n', '--', 'plain*', '\n', ''];
  const end = await gateway.run({ command: 'printf', args: ['%s|', ...args], tier: 'b' });
  expect(end).toMatchObject({ code: 'ok', output: { stdout: `${args.join('|')}|` } });
  expect(await gateway.run({ command: 'cat', args: ['sub/../plain.txt'], tier: 'b' })).toMatchObject({
    output: { stdout: 'inside\n' },
  });
});

test('an argument with a NUL, or with a lone surrogate, starts nothing', async () => {
  for (const arg of ['a\0b', '\ud800']) {
    expect(await gateway.run({ command: 'true', args: [arg], tier: 'b' })).toMatchObject({
      code: 'registry/invalid-input',
    });
  }
});
