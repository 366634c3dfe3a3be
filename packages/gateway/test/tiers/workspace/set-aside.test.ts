import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Baseline, readBaseline, takeProtectedSnapshot } from '../../../src/tiers/workspace/baseline.ts';
import { HeldDirectory } from '../../../src/tiers/workspace/held-directory.ts';
import { setAside } from '../../../src/tiers/workspace/set-aside.ts';
import type { Snapshot } from '../../../src/tiers/workspace/snapshot.ts';
import { put } from './fixture.ts';

const HOOK = '.git/hooks/pre-push';

/** On a disk: the times of files in memory do not tell of every write. */
async function bed() {
  const workspace = mkdtempSync('/var/tmp/palisade-set-aside-');
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  put(workspace, HOOK, 'mine', 0o755);
  const root = HeldDirectory.open(workspace);
  onTestFinished(() => root.close());
  const before = await takeProtectedSnapshot(root, { workspace });
  const own = readBaseline(root, before, { workspace, nowMs: Date.now() + 60_000 });
  const kept: string[] = [];
  const takeBack = async (baseline: Baseline = own, after?: Snapshot) => {
    const keep = ({ path }: { readonly path: string }, bytes: Uint8Array | null) => {
      kept.push(`${path} ${bytes?.length}`);
      return null;
    };
    const now = after ?? (await takeProtectedSnapshot(root, { workspace, baseline }));
    return setAside({ root, workspace, baseline, allowed: [], mayChange: true, keep }, now);
  };
  const hook = join(workspace, HOOK);
  return { workspace, hook, own, before, kept, takeBack };
}

/** The baseline of a workspace with more files than are copied. */
function uncopied(baseline: Baseline): Baseline {
  const copies = [...baseline.copies].map(([path, copy]) => [path, { ...copy, bytes: null }] as const);
  return { ...baseline, copies: new Map(copies) };
}

describe('setAside()', () => {
  test('restores a file that changed while all its facts stayed, as through a mapping in memory', async () => {
    const { hook, before, takeBack } = await bed();
    expect((await takeBack(undefined, before)).findings).toEqual([]);
    writeFileSync(hook, 'evil');
    expect(await takeBack(undefined, before)).toMatchObject({ count: 1, findings: [{ path: HOOK }] });
    expect(readFileSync(hook, 'utf8')).toBe('mine');
  });

  test('leaves a file without a copy that did not change, and quarantines one that did', async () => {
    const { workspace, hook, own, kept, takeBack } = await bed();
    expect((await takeBack(uncopied(own))).findings).toEqual([]);
    writeFileSync(hook, 'evil!');
    expect(await takeBack(uncopied(own))).toMatchObject({ count: 1, findings: [{ why: 'set-aside' }] });
    expect(kept).toEqual([`${HOOK} 5`]);
    expect(readdirSync(join(workspace, '.git/hooks'))).toEqual([]);
  });

  test('says that a file without a copy is not held where its times cannot tell', async () => {
    const { hook, own, takeBack } = await bed();
    const fresh = [...uncopied(own).copies].map(
      ([path, copy]) => [path, { ...copy, isFresh: true }] as const,
    );
    const { findings } = await takeBack({ ...own, copies: new Map(fresh) });
    expect(findings).toMatchObject([{ path: HOOK, why: 'not-held' }]);
    expect(readFileSync(hook, 'utf8')).toBe('mine');
  });

  test('removes thousands of names of one file, and lets others have their turns', async () => {
    const { workspace, takeBack } = await bed();
    const folder = join(workspace, '.husky');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a'), Buffer.alloc(1024 * 1024));
    for (let index = 1; index < 2_000; index += 1) linkSync(join(folder, 'a'), join(folder, `b${index}`));
    let turns = 0;
    let isOver = false;
    const others = (async () => {
      for (; !isOver; turns += 1) await nextTurn();
    })();
    expect((await takeBack()).count).toBe(2_000);
    isOver = true;
    await others;
    expect(turns).toBeGreaterThan(100);
    expect(readdirSync(folder)).toEqual([]);
    expect(lstatSync(folder).isDirectory()).toBe(true);
  });
});
