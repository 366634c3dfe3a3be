import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openCommandGateway, sharedGateway } from '../fixtures/commands/index.ts';
import { volume } from '../volume/volume.ts';

/** The first version that follows no link of the workspace when it makes a mount point. */
const SAFE_SINCE = [0, 12];

describe('a link in the workspace where a jail would mount something', () => {
  const jail = sharedGateway('[process]\nprotected = ["hooks/inner"]\n');
  const base = mkdtempSync('/var/tmp/palisade-mount-');
  const target = join(base, 'target');
  mkdirSync(target);
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  const depth = jail.workspace.split('/').length - 1;
  const ways = [
    `/oldroot${target}`,
    `${'../'.repeat(depth)}oldroot${target}`,
    `/newroot/../oldroot${target}`,
    target,
  ];

  test.each(ways)('makes nothing on the host: %s', async (way) => {
    const link = join(jail.workspace, 'hooks');
    symlinkSync(way, link);
    const end = await jail.run({ command: 'true', tier: 'c' });
    rmSync(link);
    expect(end.code, end.message).toMatch(/^tier\/(unenforceable|not-started)$/);
    expect(end.output).toBeNull();
    expect(readdirSync(target)).toEqual([]);
  });

  test('makes something on the host when an old bubblewrap is asked to mount there: the attack is real', () => {
    const [major = 0, minor = 0] = versionOfBwrap();
    const isSafe = major > (SAFE_SINCE[0] ?? 0) || minor >= (SAFE_SINCE[1] ?? 0);
    const workspace = join(base, 'workspace');
    mkdirSync(workspace);
    symlinkSync(`/oldroot${target}`, join(workspace, 'hooks'));
    const words = [
      '--ro-bind',
      '/usr',
      '/usr',
      '--bind',
      workspace,
      '/workspace',
      '--dir',
      '/workspace/hooks/made',
    ];
    spawnSync('bwrap', [...words, '/usr/bin/true']);
    expect(existsSync(join(target, 'made'))).toBe(!isSafe);
  });

  test('is refused before the run, with the way out, where the version cannot protect a path', async () => {
    mkdirSync(join(jail.workspace, 'hooks/inner'), { recursive: true });
    const end = await jail.run({ command: 'true', tier: 'c' });
    const [major = 0, minor = 0] = versionOfBwrap();
    if (major > 0 || minor >= 12) expect(end.code, end.message).toBe('ok');
    else expect(end.message).toContain('expected 0.12.0 or newer');
  });
});

test('a read-only path inside the workspace, which the run could redirect, is refused', async () => {
  const base = mkdtempSync('/var/tmp/palisade-inner-');
  const [workspace, library] = [join(base, 'project'), join(base, 'project/library')];
  mkdirSync(library, { recursive: true });
  const config = `[process]\nworkspaces = ["${workspace}"]\nread_only = ["${library}"]\n`;
  const { run } = await openCommandGateway(config);
  const end = await run({ command: 'true', workspace, tier: 'c' });
  rmSync(base, { recursive: true });
  expect(end).toMatchObject({ code: 'tier/unenforceable', output: null });
});

/** Each takes bubblewrap longer than the one before. */
const FEW = volume(1_000, 200);

test(`5,000 read-only paths are refused, and ${FEW} are all there: none is left out`, async () => {
  const base = mkdtempSync('/var/tmp/palisade-many-');
  const paths = Array.from({ length: 5_000 }, (_, number) => join(base, `d${number}`));
  for (const path of paths) mkdirSync(path);
  chmodSync(base, 0o755);
  for (const [index, path] of paths.entries()) writeFileSync(join(path, 'number'), String(index));
  const configOf = (list: readonly string[]) => `[process]\nread_only = ${JSON.stringify(list)}\n`;
  const many = await openCommandGateway(configOf(paths));
  const few = await openCommandGateway(configOf(paths.slice(0, FEW)));
  const refused = await many.run({ command: 'true', tier: 'c' });
  const count = { command: 'sh', args: ['-c', `ls ${dirname(base)}/*/*/number | wc -l`], tier: 'c' };
  const shown = await few.run(count);
  rmSync(base, { recursive: true });
  expect(refused).toMatchObject({ code: 'tier/unenforceable', output: null });
  expect(shown, shown.message).toMatchObject({ code: 'ok', output: { stdout: `${FEW}\n` } });
});

function versionOfBwrap(): number[] {
  const { stdout } = spawnSync('bwrap', ['--version'], { encoding: 'utf8' });
  return [...stdout.matchAll(/\d+/g)].map(Number);
}
