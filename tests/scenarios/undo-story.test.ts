import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { picture } from '../../packages/gateway/test/tiers/undo/bed.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';

/* What a developer does whose agent has wrecked the files, with the built command. */

const PALISADE = fileURLToPath(new URL('../../packages/gateway/bin/palisade.js', import.meta.url));
const FILES = 1_500;

describe('a developer', () => {
  const { workspace, stateDir } = makeDirectories('[process]\nsnapshot_wait_ms = 60_000\n');
  const env = { ...process.env, PALISADE_STATE: stateDir };
  const words = (args: readonly string[]) => [PALISADE, ...args];
  const palisade = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, words(args), {
      ...{ cwd: workspace, env, encoding: 'utf8' },
    });
    return { status, stdout, stderr };
  };
  const start = (...args: string[]): ChildProcess =>
    spawn(process.execPath, words(args), { cwd: workspace, env, stdio: 'ignore' });
  const kill = async (child: ChildProcess) => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const exec = (script: string) => ['exec', '--embedded', '--workspace', workspace, '--', 'sh', '-c', script];
  const listed = () => JSON.parse(palisade('undo', '--list', '--json').stdout).undo;

  beforeAll(() => {
    mkdirSync(join(workspace, 'src'));
    for (let n = 0; n < FILES; n += 1) writeFileSync(join(workspace, 'src', `${n}.txt`), `text ${n}`);
  });

  test('sees what a command changed and takes it back, and takes that back, too', () => {
    const before = picture(workspace);
    expect(palisade(...exec('rm src/1*.txt; echo x > src/0.txt; mkdir out; echo y > out/y')).status).toBe(0);
    const wrecked = picture(workspace);
    expect(wrecked).not.toEqual(before);
    const [{ id, changes }] = listed();
    const dry = palisade('undo', id, '--dry-run');
    expect(dry).toMatchObject({ status: 0, stdout: expect.stringMatching(/^remove {4}out\/y$/m) });
    expect(picture(workspace)).toEqual(wrecked);
    expect(palisade('undo')).toMatchObject({ status: 64, stderr: expect.stringContaining('--yes') });
    const undone = palisade('undo', '--yes', '--json');
    expect(undone.status, undone.stderr).toBe(0);
    const { undo, steps } = JSON.parse(undone.stdout);
    expect(steps).toHaveLength(changes);
    expect(picture(workspace)).toEqual(before);
    const kinds = palisade('journal', 'show', id, '--json').stdout;
    for (const kind of ['undo-begun', 'undo-ended']) expect(kinds).toContain(kind);
    expect(palisade('undo', undo).status).toBe(0);
    expect(picture(workspace)).toEqual(wrecked);
  });

  test('runs an undo again that was killed, and it completes', async () => {
    const before = picture(workspace);
    palisade(...exec('rm -r src'));
    const [{ id }] = listed();
    const src = join(workspace, 'src');
    const undoing = start('undo', id);
    while (!existsSync(src) || readdirSync(src).length < 20) await sleep(1);
    await kill(undoing);
    const restored = readdirSync(src).length;
    expect(restored, 'it was killed on its way').toBeLessThan(FILES);
    const again = palisade('undo', id);
    expect(again.status, again.stderr).toBe(0);
    expect(picture(workspace)).toEqual(before);
  });

  test('undoes a command whose gateway was killed', async () => {
    const before = picture(workspace);
    const ended = join(workspace, 'wrecked');
    const running = start(...exec('rm -r src; touch wrecked; sleep 60'));
    while (!existsSync(ended)) await sleep(5);
    await kill(running);
    expect(listed()[0]).toMatchObject({ command: 'sh', endKnown: false });
    const undone = palisade('undo', '--yes');
    expect(undone.status, undone.stderr).toBe(0);
    expect(picture(workspace)).toEqual(before);
    rmSync(ended, { force: true });
  });
});
