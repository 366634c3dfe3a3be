import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { volume } from '../../../../../tests/volume/volume.ts';
import { fits, foldName, globOf, indexGlobs, nameText } from '../../../src/tiers/workspace/names.ts';

const anyName = fc.oneof(
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: CHARACTER, maxLength: 20 }).map((text) => Buffer.from(text)),
);

/** The bytes of a name that `nameText` wrote. */
function nameBytes(text: string): Buffer {
  const parts = text.split(/\\x([0-9a-f]{2})/);
  return Buffer.concat(parts.map((part, index) => Buffer.from(part, index % 2 === 1 ? 'hex' : 'utf8')));
}

describe('nameText()', () => {
  it('loses no byte of any name', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        expect(nameBytes(nameText(name)).equals(name)).toBe(true);
      }),
    );
  });

  it('gives text that is valid, on one line and without control or direction characters', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        const text = nameText(name);
        expect(Buffer.from(text).toString()).toBe(text);
        expect(text).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it.each([
    ['plain.txt', 'plain.txt'],
    ['grün – 木', 'grün – 木'],
    ['a\nb\x1b[2J', 'a\\x0ab\\x1b[2J'],
    ['back\\slash', 'back\\x5cslash'],
    ['gpj.\u202etxt', 'gpj.\\xe2\\x80\\xaetxt'],
    [Buffer.from([0x66, 0xff, 0xc3, 0xa9]), 'f\\xff\\xc3\\xa9'],
  ])('writes %j as %s', (name, text) => {
    expect(nameText(Buffer.from(name as string))).toBe(text);
  });
});

describe('foldName()', () => {
  it.each(['.GIT', '.Git', '.g\u200cit', '.ｇit'])('takes %j for .git', (name) => {
    expect(foldName(nameText(Buffer.from(name)))).toBe('.git');
  });

  it.each(['ma\u212aefile', 'MAKEFILE'])('takes %j for makefile', (name) => {
    expect(foldName(nameText(Buffer.from(name)))).toBe('makefile');
  });

  it('leaves other names apart', () => {
    expect(foldName('.gite')).not.toBe(foldName('.git'));
  });
});

const match = (pattern: string, path: string) => fits(globOf(pattern.split('/')), path.split('/'));

/** The same words as a slow, plain definition. */
function defined(pattern: readonly string[], path: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return path.length === 0;
  if (first === '**') return defined(rest, path) || (path.length > 0 && defined(pattern, path.slice(1)));
  return path.length > 0 && definedName(first, path[0] ?? '') && defined(rest, path.slice(1));
}

function definedName(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  if (pattern.startsWith('*')) {
    return definedName(pattern.slice(1), name) || (name !== '' && definedName(pattern, name.slice(1)));
  }
  return name.startsWith(pattern.slice(0, 1)) && definedName(pattern.slice(1), name.slice(1));
}

const anyPattern = fc.array(fc.oneof(fc.constant('**'), fc.stringMatching(/^[ab*]{1,4}$/)), {
  minLength: 1,
  maxLength: 5,
});
const anyPath = fc.array(fc.stringMatching(/^[ab]{1,4}$/), { minLength: 1, maxLength: 6 });

describe('fits()', () => {
  it('agrees with the definition', () => {
    fc.assert(
      fc.property(anyPattern, anyPath, (pattern, path) => {
        expect(fits(globOf(pattern), path)).toBe(defined(pattern, path));
      }),
      { numRuns: volume(5_000, 30) },
    );
  });

  it.each([
    ['.git/hooks/**', '.git/hooks', true],
    ['.git/hooks/**', '.git/hooks/a/b', true],
    ['**/*.mk', 'a/b/rules.mk', true],
    ['**/*.mk', 'a/b.mk/c', false],
    ['*', 'a/b', false],
    ['a*c', 'ac', true],
    ['a*a', 'a', false],
  ])('says of %s and %s: %s', (pattern, path, expected) => {
    expect(match(pattern, path)).toBe(expected);
  });

  it('ends soon on a pattern made to be slow', () => {
    const pattern = Array.from({ length: 200 }, () => ['**', 'a*a*a*a*b']).flat();
    expect(fits(globOf(pattern), Array(2_000).fill('a'.repeat(200)))).toBe(false);
  });
});

describe('indexGlobs()', () => {
  it('finds what trying every pattern finds, in the order of the patterns', () => {
    fc.assert(
      fc.property(fc.array(anyPattern, { maxLength: 20 }), anyPath, (patterns, path) => {
        const rows = patterns.map((pattern, value) => ({ glob: globOf(pattern), value }));
        const expected = rows.filter(({ glob }) => fits(glob, path)).map(({ value }) => value);
        expect(indexGlobs(rows)(path)).toEqual(expected);
      }),
      { numRuns: volume(1_000, 30) },
    );
  });
});
