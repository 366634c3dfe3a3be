import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { keepPackage, requirePackage } from '../../src/packages/store.ts';

const NOTHING = () => ({});

function place() {
  const base = mkdtempSync(join(tmpdir(), 'palisade-packages-test-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [left, store] = [join(base, 'left'), join(base, 'store')];
  mkdirSync(join(left, 'bin'), { recursive: true });
  writeFileSync(join(left, 'bin/run.js'), 'run', { mode: 0o755 });
  writeFileSync(join(left, 'read.me'), 'read');
  symlinkSync('bin/run.js', join(left, 'start'));
  return { base, left, store };
}

/** What an installer could have left that is not kept. */
const ATTACKS: readonly [what: string, plant: (left: string) => void][] = [
  ['a link to a file of the host', (left) => symlinkSync('/etc/passwd', join(left, 'bin/passwd'))],
  ['a link that climbs out', (left) => symlinkSync('../../secret', join(left, 'bin/secret'))],
  ['a link to the directory above', (left) => symlinkSync('..', join(left, 'up'))],
  ['a program with a setuid bit', (left) => chmodSync(join(left, 'bin/run.js'), 0o4755)],
  ['directories without end', (left) => mkdirSync(join(left, 'd/'.repeat(70)), { recursive: true })],
];

describe('keepPackage()', () => {
  test('keeps a tree under a digest that does not depend on where it was', () => {
    const [one, other] = [place(), place()];
    const first = keepPackage(one.store, one.left, NOTHING);
    expect(first).toMatchObject({ files: 2, bytes: 7 });
    expect(keepPackage(other.store, other.left, NOTHING).digest).toBe(first.digest);
    const tree = requirePackage(one.store, first.digest);
    expect(statSync(join(tree, 'bin/run.js')).mode & 0o777).toBe(0o555);
    expect(statSync(join(tree, 'read.me')).mode & 0o777).toBe(0o444);
  });

  test.each(ATTACKS)('refuses %s', (_, plant) => {
    const { left, store } = place();
    plant(left);
    expect(() => keepPackage(store, left, NOTHING)).toThrow(
      expect.objectContaining({ code: 'package/refused' }),
    );
  });

  test('refuses a store that others can write to', () => {
    const { left, store } = place();
    mkdirSync(store);
    chmodSync(store, 0o777);
    expect(() => keepPackage(store, left, NOTHING)).toThrow(/others can write to it/);
    chmodSync(store, 0o755);
    expect(keepPackage(store, left, NOTHING).files).toBe(2);
  });
});

/** What can be done to a kept tree, each on a tree of its own. */
const CHANGES: readonly [what: string, change: (tree: string) => void][] = [
  ['one other byte', (tree) => write(tree, 'bin/run.js', 'ruN')],
  ['one file more', (tree) => writeFileSync(join(tree, 'bin/more.js'), '')],
  ['one file less', (tree) => rmSync(join(tree, 'read.me'))],
  ['a program in place of a text', (tree) => chmodSync(join(tree, 'read.me'), 0o555)],
  ['another link', (tree) => relink(tree, 'read.me')],
  ['nothing left', (tree) => rmSync(tree, { recursive: true })],
];

function write(tree: string, path: string, text: string): void {
  chmodSync(join(tree, path), 0o755);
  writeFileSync(join(tree, path), text);
}

function relink(tree: string, target: string): void {
  rmSync(join(tree, 'start'));
  symlinkSync(target, join(tree, 'start'));
}

test.each(CHANGES)('requirePackage() refuses a tree with %s', (_, change) => {
  const { left, store } = place();
  const { digest } = keepPackage(store, left, NOTHING);
  const tree = requirePackage(store, digest);
  change(tree);
  expect(() => requirePackage(store, digest)).toThrow(expect.objectContaining({ code: 'package/changed' }));
});
