import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { isWithin } from '../../src/core/paths.ts';
import { partsOf, pathsIn } from '../../src/runner/arguments.ts';
import { resolvePath } from '../../src/runner/resolve-path.ts';
import { makeHost, plainArguments } from './sample.ts';

/** A tree with links of every sort. */
function plantTree() {
  const { workspace, outside, root } = makeHost();
  mkdirSync(join(workspace, 'a/b/c'), { recursive: true });
  mkdirSync(join(outside, 'b'));
  writeFileSync(join(workspace, 'a/f'), '');
  symlinkSync('../b', join(workspace, 'a/b/up'));
  symlinkSync(outside, join(workspace, 'a/out'));
  symlinkSync('a/out', join(workspace, 'l'));
  symlinkSync('/', join(workspace, 'r'));
  return { workspace, outside, root, scope: { cwd: workspace, workspace, home: workspace, readOnly: [] } };
}

const part = fc.constantFrom(
  'a',
  'b',
  'c',
  'f',
  'up',
  'out',
  'l',
  'r',
  '..',
  '.',
  '',
  'new',
  'outside',
  'workspace',
);
const path = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join('/'));
const before = fc.constantFrom(
  '',
  '--o=',
  '--o=k=',
  'if=',
  '@',
  'x:',
  'a,',
  '-I',
  'file:',
  'file://',
  '-Wl,-T,',
  'k=@',
);

describe('resolvePath()', () => {
  it('agrees with the kernel on every path that exists', () => {
    const { workspace } = plantTree();
    fc.assert(
      fc.property(path, (text) => {
        let real: string;
        try {
          // Joined by hand: `join` would cut `x/..` away before the kernel sees it.
          real = realpathSync.native(text.startsWith('/') ? text : `${workspace}/${text}`);
        } catch {
          return;
        }
        expect(resolvePath(text, workspace)).toMatchObject({ path: real, exists: true, isKnown: true });
      }),
      { numRuns: volume(1_000, 30) },
    );
  });

  it('gives the same path again for what it gave', () => {
    const { workspace } = plantTree();
    fc.assert(
      fc.property(path, (text) => {
        const { path: once } = resolvePath(text, workspace);
        expect(once).toBe(resolve(once));
        expect(resolvePath(once, '/').path).toBe(once);
      }),
    );
  });
});

describe('pathsIn()', () => {
  it('sees a path that leads outside behind everything that can stand before it', () => {
    const { workspace, scope } = plantTree();
    fc.assert(
      fc.property(before, path, (start, text) => {
        const { path: resolved } = resolvePath(text, workspace);
        fc.pre(
          !isWithin(resolved, workspace) &&
            text !== '' &&
            !(start.startsWith('file://') && !text.startsWith('/')),
        );
        const { paths } = pathsIn(plainArguments(`${start}${text}`), scope);
        expect(paths.map((each) => each.resolved)).toContain(resolved);
      }),
      { numRuns: volume(1_000, 30) },
    );
  });

  it('never calls a path inside that is not below the workspace', () => {
    const { workspace, scope } = plantTree();
    fc.assert(
      fc.property(fc.array(fc.oneof(path, fc.string()), { maxLength: 6 }), (args) => {
        for (const { zone, resolved } of pathsIn(plainArguments(...args), scope).paths)
          expect(zone === 'workspace').toBe(isWithin(resolved, workspace));
      }),
    );
  });

  it('ends soon on any text, with every path or with a sign that some are missing', () => {
    const { scope } = plantTree();
    const hostile = fc.string({
      unit: fc.constantFrom('=', ':', '/', '..', '~', '*', '{', '$A', 'a', '-', ' ', '%2e'),
      maxLength: 1500,
    });
    fc.assert(
      fc.property(hostile, (text) => {
        const { paths, isComplete } = pathsIn(plainArguments(text), scope);
        expect(paths.length > 0 || text === '' || !isComplete || /^\$A|^-/.test(text)).toBe(true);
      }),
      { numRuns: volume(50, 30) },
    );
  });
});

describe('partsOf()', () => {
  it('has the whole argument among its parts unless it holds a remote URL', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (text) => {
        fc.pre(!text.includes('://'));
        expect(partsOf(text).map((each) => each.text)).toContain(text);
      }),
    );
  });

  it('leaves a remote URL alone and still sees what stands beside it', () => {
    const texts = (argument: string) => partsOf(argument).map((each) => each.text);
    expect(texts('https://example.com/etc/passwd')).toEqual([]);
    expect(texts('--url=https://example.com/etc,/etc/passwd')).toContain('/etc/passwd');
    expect(texts('nohttps://etc/passwd')).toContain('//etc/passwd');
  });
});
