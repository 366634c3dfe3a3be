import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lockPath, withLock } from '../lock.mjs';
import { isInstalled, lockAgrees, requireNode, setUpCompilers } from '../setup.mjs';
import { BUILDS, staleBuilds, stampOf } from '../stamp.mjs';
import { plant } from './plant.ts';

describe('requireNode()', () => {
  test.each(['20.19.0', '20.20.2', '22.0.0', '24.21.0'])('accepts %s', (version) => {
    expect(() => requireNode(version)).not.toThrow();
  });

  test.each(['18.20.0', '20.18.9', '9.0.0'])('refuses %s and says what would do', (version) => {
    expect(() => requireNode(version)).toThrow(`this is Node ${version}, expected 20.19 or newer`);
  });
});

describe('isInstalled()', () => {
  const entry = { version: '1.0.0', integrity: 'sha512-x' };
  const cases: readonly (readonly [string, boolean, Record<string, object>, Record<string, object>])[] = [
    ['accepts the same packages', true, { 'node_modules/a': entry }, { '': {}, 'node_modules/a': entry }],
    ['accepts an absent optional package', true, {}, { 'node_modules/b': { ...entry, optional: true } }],
    [
      'refuses another version',
      false,
      { 'node_modules/a': entry },
      { 'node_modules/a': { ...entry, version: '1.0.1' } },
    ],
    [
      'refuses other bytes',
      false,
      { 'node_modules/a': entry },
      { 'node_modules/a': { ...entry, integrity: 'y' } },
    ],
    ['refuses a missing package', false, {}, { 'node_modules/a': entry }],
    ['refuses a package too many', false, { 'node_modules/a': entry }, {}],
    [
      'refuses a recorded package that is gone',
      false,
      { 'node_modules/c': entry },
      { 'node_modules/c': entry },
    ],
  ];

  test.each(cases)('%s', (_, expected, have, want) => {
    const root = plant({
      'package-lock.json': JSON.stringify({ packages: want }),
      'node_modules/.package-lock.json': JSON.stringify({ packages: have }),
      'node_modules/a/package.json': '{}',
    });
    expect(isInstalled(root)).toBe(expected);
  });

  test('refuses a clone without node_modules', () => {
    expect(isInstalled(plant({ 'package-lock.json': '{ "packages": {} }' }))).toBe(false);
  });
});

describe('lockAgrees()', () => {
  const lock = JSON.stringify({
    packages: { '': { devDependencies: { a: '1.0.0' } }, 'packages/x': { name: 'x' }, 'node_modules/a': {} },
  });

  test.each([
    ['accepts the same dependencies', true, { devDependencies: { a: '1.0.0' } }],
    ['refuses another version', false, { devDependencies: { a: '1.0.1' } }],
    [
      'refuses a dependency the lock file does not know',
      false,
      { devDependencies: { a: '1.0.0', b: '1.0.0' } },
    ],
    ['refuses another kind', false, { dependencies: { a: '1.0.0' } }],
  ])('%s', (_, expected, manifest) => {
    const files = {
      'package-lock.json': lock,
      'package.json': JSON.stringify(manifest),
      'packages/x/package.json': '{}',
    };
    expect(lockAgrees(plant(files))).toBe(expected);
  });
});

describe('setUpCompilers()', () => {
  const folder = 'packages/guest/tools';
  const lock = JSON.stringify({
    packages: { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-x' } },
  });

  test('installs nothing where all is in place, and remembers that', async () => {
    const root = plant({
      [`${folder}/package-lock.json`]: lock,
      [`${folder}/node_modules/.package-lock.json`]: lock,
      [`${folder}/node_modules/a/package.json`]: '{}',
    });
    const said: string[] = [];
    await setUpCompilers(root, (step: string) => said.push(step));
    expect(said).toEqual([]);
    expect(existsSync(join(root, folder, 'node_modules/.palisade-setup'))).toBe(true);
  });

  test('does nothing in a tree without them', async () => {
    const root = plant({});
    await setUpCompilers(root, () => expect.unreachable());
    expect(existsSync(join(root, folder))).toBe(false);
  });
});

describe('staleBuilds()', () => {
  const built = () => {
    const root = plant({
      'packages/sdk/src/a.ts': '1',
      'packages/gateway/src/b.ts': '2',
      'packages/wasm/src/c.ts': '3',
      'docs/http.md': '# Serving',
    });
    for (const name of ['sdk', 'wasm', 'gateway', 'site'] as const) {
      mkdirSync(join(root, BUILDS[name].stamp, '..'), { recursive: true });
      writeFileSync(join(root, BUILDS[name].stamp), stampOf(root, name));
    }
    return root;
  };

  test('names everything in a fresh clone and nothing after a build', () => {
    expect(staleBuilds(plant({ 'packages/sdk/src/a.ts': '1' }))).toEqual(['sdk', 'wasm', 'gateway', 'site']);
    expect(staleBuilds(built())).toEqual([]);
  });

  test.each([
    ['packages/sdk/src/a.ts', ['sdk', 'gateway', 'site']],
    ['packages/wasm/src/c.ts', ['wasm', 'gateway']],
    ['packages/gateway/src/b.ts', ['gateway', 'site']],
    ['packages/gateway/src/new.ts', ['gateway', 'site']],
    ['docs/http.md', ['site']],
    ['package-lock.json', ['sdk', 'wasm', 'gateway', 'site']],
  ])('names what %s goes into when it changes', (file, stale) => {
    const root = built();
    writeFileSync(join(root, file), 'changed');
    expect(staleBuilds(root)).toEqual(stale);
  });

  test('does not care about file times', () => {
    const root = built();
    utimesSync(join(root, 'packages/sdk/src/a.ts'), 0, 0);
    expect(staleBuilds(root)).toEqual([]);
  });
});

describe('withLock()', () => {
  const nobody = () => {};

  test('lets one in at a time', async () => {
    const root = plant({});
    const events: string[] = [];
    const work = (name: string) => async () => {
      events.push(`${name} in`);
      await new Promise((wake) => setTimeout(wake, 50));
      events.push(`${name} out`);
    };
    await Promise.all(['a', 'b', 'c'].map((name) => withLock(root, nobody, work(name))));
    expect(events).toHaveLength(6);
    for (let at = 0; at < events.length; at += 2) {
      expect(events[at + 1]).toBe(events[at]?.replace('in', 'out'));
    }
    expect(existsSync(lockPath(root))).toBe(false);
  });

  test('takes over from a process that is gone', async () => {
    const root = plant({});
    mkdirSync(lockPath(root));
    writeFileSync(join(lockPath(root), 'owner'), '4194999');
    const owner = await withLock(root, nobody, async () =>
      readFileSync(join(lockPath(root), 'owner'), 'utf8'),
    );
    expect(owner).toBe(String(process.pid));
  });

  test('waits for a process that lives', async () => {
    const root = plant({});
    let waited = false;
    await withLock(root, nobody, async () => {
      const second = withLock(
        root,
        () => {
          waited = true;
        },
        async () => 'second',
      );
      await new Promise((wake) => setTimeout(wake, 300));
      expect(waited).toBe(true);
      return { second };
    }).then(({ second }) => expect(second).resolves.toBe('second'));
  });

  test('is released when the work fails', async () => {
    const root = plant({});
    await expect(withLock(root, nobody, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(existsSync(lockPath(root))).toBe(false);
  });
});
