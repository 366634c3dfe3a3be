import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Digest, digestBytes } from '../../src/core/digest.ts';
import { Artifacts } from '../../src/skills/artifacts.ts';
import { bundle } from '../fixture/bundle.ts';
import { Child } from '../fixture/child.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const MIB = 1024 * 1024;

function fixture(): Promise<string> {
  return bundle(new URL('./fixtures/write-artifacts.ts', import.meta.url), tempDir());
}

describe('write() into a disk that is full', () => {
  it('refuses with store/full and leaves nothing of it, and keeps what was there', async () => {
    const program = await fixture();
    // A file system of 5 MiB holds two packages of 2 MiB, and no third.
    const jail = ['--dev-bind', '/', '/', '--size', String(5 * MIB), '--tmpfs', '/mnt', '--'];
    const out = execFileSync('bwrap', [...jail, process.execPath, program, '/mnt', String(2 * MIB), '4'], {
      encoding: 'utf8',
    });
    expect(out.trim().split('\n')).toEqual(['written 1', 'written 2', 'store/full 2', 'store/full 2']);
  });

  it('does the same where only the size of files is limited', async () => {
    const program = await fixture();
    const dir = tempDir();
    const child = new Child(program, [dir, String(MIB), '1'], { maxFileBlocks: 64 });
    expect(await child.line()).toBe('store/full 0');
    expect(await child.ended()).toBe(0);
    const free = new Child(program, [dir, String(MIB), '1']);
    expect(await free.line()).toBe('written 1');
  });

  it.each([
    ['writeSync', 'EDQUOT', 'store/full 0'],
    ['writeSync', 'ENOSPC', 'store/full 0'],
    ['fsyncSync', 'EDQUOT', 'store/full 0'],
    ['fsyncSync', 'ENOSPC', 'store/full 0'],
    ['renameSync', 'ENOSPC', 'store/full 0'],
    ['openSync', 'ENOSPC', 'store/full 0'],
    ['mkdirSync', 'EDQUOT', 'store/full 0'],
    ['openSync', 'EROFS', 'store/unwritable 0'],
    ['renameSync', 'EACCES', 'store/unwritable 0'],
    ['openSync', 'EMFILE', 'store/unwritable 0'],
  ])('leaves nothing when %s gives %s', async (call, code, ending) => {
    const child = new Child(await fixture(), [tempDir(), '1000', '1', call, code]);
    expect(await child.line()).toBe(ending);
    expect(await child.ended()).toBe(0);
  });
});

/** The names that are digests, each of which has to be that of its file. */
function wholeIn(dir: string): Digest[] {
  const whole = readdirSync(dir).filter((name) => /^[0-9a-f]{64}$/.test(name));
  for (const name of whole) expect(digestBytes(readFileSync(join(dir, name)))).toBe(name);
  return whole as Digest[];
}

describe('a process that is killed while it writes a package', () => {
  it.each([
    ['openSync', 0],
    ['writeSync', 1],
    ['fchmodSync', 1],
    ['fsyncSync', 1],
    ['renameSync', 1],
  ])('in %s leaves it unfinished or not there, and the one before as it was', async (call, unfinished) => {
    const program = await fixture();
    const dir = tempDir();
    expect(await new Child(program, [dir, '100', '1']).ended()).toBe(0);
    const before = wholeIn(dir);
    // Once over the one that is there, and once beside it.
    for (const bytes of ['100', '5000']) {
      expect(await new Child(program, [dir, bytes, '1', call, 'SIGKILL']).ended()).toBeNull();
      expect(wholeIn(dir)).toEqual(before);
    }
    expect(readdirSync(dir)).toHaveLength(before.length + 2 * unfinished);
    expect(new Artifacts(dir).sweep(new Set(before), 0)).toBe(2 * unfinished);
    expect(readdirSync(dir)).toEqual(before);
    expect(await new Child(program, [dir, '5000', '1']).line()).toBe('written 2');
  });

  it('at any moment, 12 times, leaves whole ones and unfinished ones', async () => {
    const program = await fixture();
    const dir = tempDir();
    for (let round = 0; round < 12; round++) {
      const child = spawn(process.execPath, [program, dir, String(3 * MIB), '1000000'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const closed = once(child, 'close');
      await once(child.stdout, 'data');
      child.stdout.resume();
      await sleep(Math.random() * 30);
      child.kill('SIGKILL');
      await closed;
      const whole = wholeIn(dir);
      expect(whole.length).toBeGreaterThan(0);
      const artifacts = new Artifacts(dir);
      artifacts.sweep(new Set(whole), 0);
      expect(readdirSync(dir).sort()).toEqual(whole.sort());
      for (const name of whole) artifacts.remove(name);
    }
  }, 120_000);
});
