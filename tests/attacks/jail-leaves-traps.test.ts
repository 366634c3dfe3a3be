import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { type Answers, tryInside } from '../fixtures/jail/index.ts';

const PLAIN = ['Makefile', 'conftest.py', 'package.json', '.npmrc', '.gitmodules', '.gitattributes'];
const LINKS = {
  'to-shadow': '/etc/shadow',
  'to-keys': '../state/keys',
  'to-root': '/',
  'to-old-root': '/oldroot/etc',
  'to-zero': '/dev/zero',
  'to-itself': 'to-itself',
  'to-a-process': '/proc/self/mem',
};
const NAMES = [
  'line\nbreak',
  '\u001b]0;title\u0007',
  'right\u202eto-left',
  ' .git',
  'back\\slash',
  '--option',
];

describe('a command that leaves traps in its workspace', () => {
  const jail = sharedGateway();
  let end: CommandEnd;
  let answers: Answers = {};
  beforeAll(async () => {
    writeFileSync(join(dirname(jail.workspace), 'outside.txt'), 'outside');
    const wish = { 'runs later': PLAIN, links: LINKS, names: NAMES, 'hard link to': '/usr/bin/env' };
    const tried = await tryInside(jail, 'leaves-traps.py', wish);
    [end, answers] = [tried.end, tried.answers];
  });
  afterAll(() => {
    for (const path of ['closed', 'closed/below']) chmodSync(join(jail.workspace, path), 0o700);
  });
  const whysOf = (path: string) =>
    end.output?.findings.filter((found) => found.path === path).map(({ why }) => why);

  test('ends well, which is no praise', () => {
    expect(end, `${end.message} ${end.output?.stderr}`).toMatchObject({
      code: 'ok',
      execution: { tier: 'c' },
    });
  });

  test.each(PLAIN)('leaves %s, which a person has to run, without a word', (path) => {
    expect(answers[path]).toBe('left');
    expect(whysOf(path)).toEqual([]);
  });

  test.each(Object.keys(LINKS))('is found out about the link %s', (path) => {
    expect(answers[path]).toBe('left');
    expect(whysOf(path)).toEqual([path === 'to-itself' ? 'link-loop' : 'link-outside']);
  });

  test('is found out about a pipe, and about names that act or deceive', () => {
    expect(whysOf('pipe')).toEqual(['fifo']);
    const whys = end.output?.findings.filter(({ why }) => why.endsWith('-name')).map(({ why }) => why) ?? [];
    expect(whys.filter((why) => why === 'control-name')).toHaveLength(2);
    expect(whys.filter((why) => why === 'disguised-name').length).toBeGreaterThanOrEqual(3);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come through
    expect(JSON.stringify(end.output?.findings)).not.toMatch(/[\u0000-\u001f\u007f\u202e]|\\u00[01]|\\n/);
  });

  test('is found out about a socket that it leaves', () => {
    expect(answers.listening).toBe('left');
    expect(whysOf('listening')).toEqual(['socket']);
  });

  test('can make no set-id file, no device, and no file of another owner', () => {
    const denied = ['set-id', 'capabilities', 'device', 'given-away', 'hard-link'];
    for (const probe of denied) expect(answers[probe], probe).toMatch(/^(EPERM|EINVAL|EXDEV|EACCES|EROFS)$/);
    expect(lstatSync(join(jail.workspace, 'set-id')).mode & 0o7000).toBe(0);
    expect(existsSync(join(jail.workspace, 'device'))).toBe(false);
    // The same acts are the control: here, where nothing holds them, they succeed.
    const file = join(dirname(jail.workspace), 'set-id');
    writeFileSync(file, '');
    chmodSync(file, 0o4755);
    expect(statSync(file).mode & 0o7000).toBe(0o4000);
  });

  test('has its files owned by the owner of the workspace', () => {
    const { uid, gid } = lstatSync(jail.workspace);
    expect(lstatSync(join(jail.workspace, 'Makefile'))).toMatchObject({ uid, gid });
  });

  test('holds up no later run: not by a closed directory, a pipe, an endless file or a link', async () => {
    for (const name of ['pipe', 'to-zero', 'to-a-process', 'to-itself', 'to-shadow', 'endless']) {
      if (name === 'endless') {
        writeFileSync(join(jail.workspace, name), '#!/bin/sh\n', { mode: 0o755 });
        truncateSync(join(jail.workspace, name), 100 * 2 ** 30);
      }
      const { code, output } = await jail.run({ command: `./${name}`, tier: 'c' });
      expect(code, name).toMatch(/^runner\/(not-found|outside-workspace|not-allowed)$/);
      expect(output).toBeNull();
    }
    expect(await jail.run({ command: 'true', tier: 'c' })).toMatchObject({ code: 'ok' });
  });

  test.each(['cwd', 'workspace'])('leads the %s of a later call nowhere', async (field) => {
    const roots = dirname(jail.workspace);
    symlinkSync(roots, join(jail.workspace, `${field}-link`));
    const path = join(jail.workspace, `${field}-link`, field === 'cwd' ? '' : 'state');
    const { code } = await jail.run({ command: 'true', tier: 'c', [field]: path });
    expect(code).toMatch(/^runner\/(outside-workspace|invalid-workspace)$/);
  });

  test('makes directories deeper than any path and leaves none that cannot be removed', async () => {
    const script =
      'import os\nfor _ in range(3000):\n  os.mkdir("deeper"); os.chdir("deeper")\nprint("down")';
    mkdirSync(join(jail.workspace, 'deep'));
    const made = await jail.run({
      command: '/usr/bin/python3',
      args: ['-c', script],
      cwd: 'deep',
      tier: 'c',
    });
    expect(made, made.message).toMatchObject({ code: 'ok', output: { stdout: 'down\n' } });
    expect(spawnSync('rm', ['-r', join(jail.workspace, 'deep')]).status).toBe(0);
  });
});
