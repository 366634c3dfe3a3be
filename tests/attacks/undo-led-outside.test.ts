import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bed } from '../../packages/gateway/test/tiers/undo/bed.ts';

/* An undo writes and removes files outside of every sandbox. What is in the workspace by then tries to lead it elsewhere. */

async function wrecked() {
  const it = bed();
  const outside = join(it.base, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'file'), 'theirs');
  it.write('dir/file', 'before');
  it.write('dir/removed', 'before');
  const { id } = await it.run(() => {
    it.write('dir/file', 'command');
    rmSync(it.at('dir/removed'));
    it.write('dir/made', 'command');
  });
  const untouched = () => {
    expect(readdirSync(outside)).toEqual(['file']);
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('theirs');
  };
  return { ...it, id, outside, untouched };
}

describe('an undo', () => {
  test('restores, recreates and removes where nothing is in its way', async () => {
    const { id, undo, read, at } = await wrecked();
    expect(await undo(id)).toMatchObject({ conflicts: [], failed: [] });
    expect([read('dir/file'), read('dir/removed'), existsSync(at('dir/made'))]).toEqual([
      'before',
      'before',
      false,
    ]);
  });

  test.each([false, true])(
    'does not follow a directory that became a link (forced: %s)',
    async (isForced) => {
      const { id, undo, at, outside, untouched } = await wrecked();
      writeFileSync(join(outside, 'made'), 'theirs');
      renameSync(at('dir'), at('moved'));
      symlinkSync(outside, at('dir'));
      await undo(id, isForced);
      expect(readFileSync(join(outside, 'made'), 'utf8')).toBe('theirs');
      rmSync(join(outside, 'made'));
      untouched();
    },
  );

  test.each([false, true])(
    'does not write through a file that became a link (forced: %s)',
    async (isForced) => {
      const { id, undo, at, outside, untouched, read } = await wrecked();
      rmSync(at('dir/file'));
      symlinkSync(join(outside, 'file'), at('dir/file'));
      const { conflicts } = await undo(id, isForced);
      untouched();
      expect(conflicts.map(({ path }) => path)).toEqual(isForced ? [] : ['dir/file']);
      expect(read('dir/file')).toBe(isForced ? 'before' : 'theirs');
    },
  );

  test('does not write through the name under which it prepares a file', async () => {
    const { id, undo, at, outside, untouched, read } = await wrecked();
    symlinkSync(join(outside, 'file'), at(`dir/.palisade-undo-${id}`));
    await undo(id);
    untouched();
    expect(read('dir/file')).toBe('before');
  });

  test('does not change the mode of what a link leads to', async () => {
    const { base, at, write, run, undo } = bed();
    writeFileSync(join(base, 'outside'), 'theirs', { mode: 0o600 });
    write('file', 'x');
    const { chmodSync } = await import('node:fs');
    const { id } = await run(() => chmodSync(at('file'), 0o777));
    rmSync(at('file'));
    symlinkSync(join(base, 'outside'), at('file'));
    for (const isForced of [false, true]) await undo(id, isForced);
    expect(statSync(join(base, 'outside')).mode & 0o777).toBe(0o600);
  });

  test('does not enter a workspace that became a link', async () => {
    const { id, undo, workspace, outside, untouched } = await wrecked();
    mkdirSync(join(outside, 'dir'));
    renameSync(workspace, `${workspace}-moved`);
    symlinkSync(outside, workspace);
    await expect(undo(id, true)).rejects.toThrow('not the directory');
    rmSync(join(outside, 'dir'), { recursive: true });
    untouched();
  });

  test('copies neither what a link leads to nor a pipe, before a run', async () => {
    const { base, folder, at, write, run } = bed();
    writeFileSync(join(base, 'secret'), 'a secret of the host');
    write('plain', 'a plain file');
    symlinkSync(join(base, 'secret'), at('link'));
    const { spawnSync } = await import('node:child_process');
    spawnSync('mkfifo', [at('pipe')]);
    await run(() => write('plain', 'changed'));
    const kept = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.copies'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('');
    expect(kept).toContain('a plain file');
    expect(kept).not.toContain('a secret of the host');
  });
});
