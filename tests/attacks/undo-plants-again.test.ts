import { chmodSync, existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bed } from '../../packages/gateway/test/tiers/undo/bed.ts';
import { sharedGateway } from '../fixtures/commands/index.ts';

/* A command prepares its workspace so that an undo harms: by what it brings back, by what it fills, or by what stops it. */

const HOOK = '.git/hooks/pre-commit';

describe('an undo of a command beside another that planted a hook', () => {
  const jail = sharedGateway();
  const sh = (script: string) => jail.run({ command: 'sh', args: ['-c', script], tier: 'c' });

  test('does not bring the hook back, but brings back the rest', async () => {
    mkdirSync(join(jail.workspace, '.git/hooks'), { recursive: true });
    for (const name of ['.git/HEAD', 'file']) writeFileSync(join(jail.workspace, name), 'before');
    for (const name of ['.git', '.git/hooks', 'file', '.']) chmodSync(join(jail.workspace, name), 0o777);
    const wait = (name: string) => `while [ ! -e ${name} ]; do sleep 0.05; done`;
    const planting = sh(`echo evil > ${HOOK}; touch planted; ${wait('seen')}; rm ${HOOK}; touch gone`);
    while (!existsSync(join(jail.workspace, 'planted'))) await new Promise((next) => setTimeout(next, 20));
    const beside = await sh(`cat ${HOOK}; echo command > file; touch seen; ${wait('gone')}`);
    expect(beside.output?.stdout).toBe('evil\n');
    await planting;
    const { undos } = await jail.gateway();
    const id = undos.list(null).find(({ beside: others }) => others.length > 0)?.id ?? '';
    const undone = await undos.undo({
      ...{ id, isForced: true, undoId: 'undo_1', principal: 'user:eve' },
    });
    expect(existsSync(join(jail.workspace, HOOK))).toBe(false);
    expect(undone.missing.map(({ path }) => path)).toEqual([HOOK]);
    expect(readFileSync(join(jail.workspace, 'file'), 'utf8')).toBe('before');
  });
});

describe('an undo', () => {
  test('does not fill the disk with what a command made, and undoes the rest', async () => {
    const it = bed({ snapshotTotalBytes: 1_000_000 });
    it.write('file', 'before');
    const { id } = await it.run(() => {
      it.write('file', 'command');
      it.write('sparse', '');
      truncateSync(it.at('sparse'), 2_000_000);
    });
    const { failed } = await it.undo(id);
    expect(failed.map(({ path }) => path)).toEqual(['sparse']);
    expect([it.read('file'), existsSync(it.at('sparse'))]).toEqual(['before', true]);
  });

  test('is not stopped by a directory at the name under which it prepares a file', async () => {
    const it = bed();
    it.write('file', 'before');
    const { id } = await it.run(() => it.write('file', 'command'));
    it.write(`.palisade-undo-${id}/x`, 'in the way');
    expect(await it.undo(id)).toMatchObject({ failed: [], conflicts: [] });
    expect(it.read('file')).toBe('before');
    expect(it.read(`.palisade-undo-${id}/x`)).toBe('in the way');
  });

  test('restores from copies beside which others were removed while they were made', async () => {
    const it = bed();
    for (let number = 0; number < 200; number += 1) it.write(`dir/${number}`, 'before');
    const beginning = it.begin();
    let isBegun = false;
    void beginning.then(() => {
      isBegun = true;
    });
    while (!isBegun) {
      it.recordings.sweep();
      await new Promise((next) => setImmediate(next));
    }
    const { id, finish } = await beginning;
    it.write('dir/1', 'command');
    expect((await finish()).output).toEqual({ undo: 'whole' });
    expect(await it.undo(id)).toMatchObject({ failed: [], conflicts: [], missing: [] });
    expect(it.read('dir/1')).toBe('before');
  });
});
