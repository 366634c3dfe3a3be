import { chmodSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Change, diffSnapshots, firstOf } from '../../../src/tiers/workspace/hygiene.ts';
import type { Entry } from '../../../src/tiers/workspace/names.ts';
import { parentOf } from '../../../src/tiers/workspace/names.ts';
import type { Snapshot } from '../../../src/tiers/workspace/snapshot.ts';
import { afterRun, entry, makeGround, put, snapshotOf } from './fixture.ts';

const shape = (changes: readonly Change[]) => changes.map(({ path, change }) => `${change} ${path}`);

describe('diffSnapshots() over a real tree', () => {
  it('names what was added, removed, changed, and what got another mode or type', async () => {
    const { workspace } = makeGround(['keep', 'edit', 'gone', 'mode', 'type', 'dir/inner']);
    const { changes } = await afterRun(workspace, () => {
      put(workspace, 'new/file', 'four');
      writeFileSync(join(workspace, 'edit'), 'longer text');
      rmSync(join(workspace, 'gone'));
      chmodSync(join(workspace, 'mode'), 0o755);
      rmSync(join(workspace, 'type'));
      symlinkSync('keep', join(workspace, 'type'));
      chmodSync(join(workspace, 'dir'), 0o700);
    });
    expect(shape(changes)).toEqual([
      'mode dir',
      'changed edit',
      'removed gone',
      'mode mode',
      'added new',
      'added new/file',
      'type type',
    ]);
  });

  it('sees a write of the same length whose time was set back', async () => {
    const { workspace } = makeGround(['file', 'other']);
    const file = join(workspace, 'file');
    utimesSync(file, 1_000, 1_000);
    const { changes } = await afterRun(workspace, () => {
      writeFileSync(file, 'TEXT');
      utimesSync(file, 1_000, 1_000);
      expect(statSync(file).mtimeMs).toBe(1_000_000);
    });
    expect(shape(changes)).toEqual(['changed file']);
  });

  it('shows a rename as a removal and an addition, with all that is below', async () => {
    const { workspace } = makeGround(['old/file']);
    const { changes } = await afterRun(workspace, () =>
      renameSync(join(workspace, 'old'), join(workspace, 'new')),
    );
    expect(shape(changes)).toEqual(['added new', 'added new/file', 'removed old', 'removed old/file']);
  });

  it('sees that another directory stands in the place of one', async () => {
    const { workspace } = makeGround(['a/file', 'b/file']);
    const { changes } = await afterRun(workspace, () => {
      renameSync(join(workspace, 'a'), join(workspace, 'c'));
      renameSync(join(workspace, 'b'), join(workspace, 'a'));
    });
    expect(changes.filter(({ path }) => path.startsWith('a'))).toMatchObject([
      { path: 'a', change: 'changed', kind: 'directory' },
      { path: 'a/file', change: 'changed' },
    ]);
  });
});

/** A tree as a model: every operation says itself what it changes. */
const NAMES = ['a', 'b', 'c', 'a/x', 'a/y', 'b/x', 'b/x/z'];
const anyEntry = fc.record({ mode: fc.constantFrom(0o644, 0o755), size: fc.nat(9), ino: fc.bigInt(1n, 9n) });
const anyTree = fc
  .dictionary(fc.constantFrom(...NAMES), anyEntry)
  .map((tree) => new Map(Object.entries(tree).map(([path, facts]) => [path, entry(path, 'file', facts)])));
const anyOperation = fc.record({
  path: fc.constantFrom(...NAMES),
  act: fc.constantFrom('write', 'remove', 'chmod', 'touch-back', 'replace', 'retype'),
});

type Operation = { path: string; act: string };

/** Applies one operation for each path at most; gives what a user would say was done. */
function apply(tree: Map<string, Entry>, { path, act }: Operation): string | null {
  const old = tree.get(path);
  if (old === undefined) {
    tree.set(path, entry(path, 'file', { ino: 100n, ctimeNs: 5n }));
    return `added ${path}`;
  }
  if (act === 'remove') {
    tree.delete(path);
    return `removed ${path}`;
  }
  const now = { ...old, ctimeNs: old.ctimeNs + 1n };
  const changed: Record<string, [Entry, string]> = {
    write: [{ ...now, size: old.size + 1, mtimeNs: old.mtimeNs + 1n }, 'changed'],
    chmod: [{ ...now, mode: old.mode ^ 0o111 }, 'mode'],
    'touch-back': [now, 'changed'],
    replace: [{ ...now, ino: old.ino + 50n }, 'changed'],
    retype: [{ ...now, kind: 'fifo' }, 'type'],
  };
  const [next, word] = changed[act] ?? [now, ''];
  tree.set(path, next);
  return `${word} ${path}`;
}

/** The same tree, of which a directory (or the whole) was not seen. */
function hide(snapshot: Snapshot, directory: string): Snapshot {
  const isHidden = (path: string) => directory === '.' || parentOf(path) === directory;
  const left = [...snapshot.entries.values()].filter(
    ({ path }) => !isHidden(path) && !path.startsWith(`${directory}/`),
  );
  return snapshotOf(left, [{ path: directory, why: 'too-large' }]);
}

describe('diffSnapshots()', () => {
  it('finds nothing between equal snapshots', () => {
    fc.assert(
      fc.property(anyTree, (tree) => {
        const copy = [...tree.values()].map((each) => ({ ...each }));
        expect(diffSnapshots(snapshotOf([...tree.values()]), snapshotOf(copy))).toEqual([]);
      }),
    );
  });

  it('names exactly what was done', () => {
    const operations = fc.uniqueArray(anyOperation, { selector: ({ path }) => path });
    fc.assert(
      fc.property(anyTree, operations, (tree, list) => {
        const before = snapshotOf([...tree.values()]);
        const after = new Map(tree);
        const done = list.map((operation) => apply(after, operation));
        const changes = diffSnapshots(before, snapshotOf([...after.values()]));
        expect(shape(changes).sort()).toEqual([...done].sort());
        expect(changes.map(({ path }) => path)).toEqual(changes.map(({ path }) => path).sort());
      }),
    );
  });

  it('never says that something was removed where it did not look', () => {
    const directory = fc.constantFrom('.', 'a', 'b', 'b/x');
    fc.assert(
      fc.property(anyTree, directory, (tree, hidden) => {
        const full = snapshotOf([...tree.values()]);
        expect(diffSnapshots(full, hide(full, hidden))).toEqual([]);
        const appeared = diffSnapshots(hide(full, hidden), full);
        expect(appeared.filter(({ change }) => change !== 'added')).toEqual([]);
        expect(appeared.length).toBe(full.entries.size - hide(full, hidden).entries.size);
      }),
    );
  });
});

describe('firstOf()', () => {
  it.each([
    [2, [1, 2], 1],
    [3, [1, 2, 3], 0],
    [9, [1, 2, 3], 0],
  ])('keeps %d and counts the rest', (cap, items, more) => {
    expect(firstOf([1, 2, 3], cap)).toEqual({ items, more });
  });
});
