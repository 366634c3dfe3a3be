import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';

const ARGUMENTS = [
  ...[
    '',
    ' ',
    'two words',
    'line\nbreak',
    '\r\n\t',
    '$(touch harmed)',
    '`touch harmed`',
    '; touch harmed',
    '| sh',
    '&&',
  ],
  ...[
    '"',
    "'",
    '\\',
    '\\n',
    '*',
    '?',
    '[a-z]',
    '{a,b}',
    '!!',
    '#',
    '%s%n',
    '\u001b[31m',
    '\u202e',
    '😀',
    'é',
  ],
  ...[
    '-',
    '--',
    '-c',
    '--version',
    '--bind',
    '--unshare-net',
    '--args',
    'uid=0',
    'mode=exec',
    'status=2',
    'keep=5',
  ],
];
const NAMES = [
  'two words',
  'line\nbreak',
  'comma,and=equals',
  'back\\slash',
  '"quotes\'',
  '--bind',
  '$(harm)',
  'é😀',
  '\\040',
];

describe('odd words', () => {
  const base = mkdtempSync('/var/tmp/palisade-odd-');
  chmodSync(base, 0o755);
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  const jail = sharedGateway(`[process]\nworkspaces = ["${base}"]\n`);
  const workspace = join(base, 'plain');
  mkdirSync(workspace);

  test('reach the command as they are, and nothing on the way reads them', async () => {
    const script = 'import json,sys; print(json.dumps(sys.argv[1:]))';
    const end = await jail.run({
      command: 'python3',
      args: ['-c', script, ...ARGUMENTS],
      workspace,
      tier: 'c',
    });
    expect(end, end.message).toMatchObject({ code: 'ok' });
    expect(JSON.parse(end.output?.stdout ?? '')).toEqual(ARGUMENTS);
    expect(existsSync(join(workspace, 'harmed'))).toBe(false);
  });

  test.each(['a\u0000b', 'a\ud800b'])('are refused where they cannot be passed on: %j', async (word) => {
    for (const input of [
      { args: [word] },
      { env: { LANG: word } },
      { cwd: word },
      { workspace: `${workspace}/${word}` },
    ]) {
      const end = await jail.run({ command: 'true', workspace, tier: 'c', ...input });
      expect(end.output, JSON.stringify(input)).toBeNull();
      expect(end.execution).toBeNull();
    }
  });

  test.each(NAMES)('name workspaces, directories and programs like any other: %j', async (name) => {
    const odd = join(base, name);
    mkdirSync(join(odd, name), { recursive: true });
    copyFileSync('/usr/bin/touch', join(odd, name, name));
    chmodSync(join(odd, name, name), 0o755);
    const end = await jail.run({
      command: `./${name}`,
      args: ['made'],
      workspace: odd,
      cwd: name,
      tier: 'c',
    });
    expect(end, `${end.message} ${end.output?.stderr}`).toMatchObject({
      code: 'ok',
      execution: { tier: 'c' },
    });
    expect(readdirSync(join(odd, name)).sort()).toEqual([name, 'made'].sort());
  });

  test('are too many or too long at some point, and then refused', async () => {
    const wishes = [
      { args: Array(200).fill('x') },
      { args: ['x'.repeat(70_000)] },
      { stdin: 'x'.repeat(200_000) },
    ];
    for (const wish of wishes)
      expect(await jail.run({ command: 'true', workspace, tier: 'c', ...wish })).toMatchObject({
        output: null,
      });
  });
});
