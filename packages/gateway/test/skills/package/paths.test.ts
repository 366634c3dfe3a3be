import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { collisionOf, isPackagePath } from '../../../src/skills/package/paths.ts';

describe('isPackagePath()', () => {
  it.each([
    'skill.toml',
    'a/b/c/d/e/f/g/h',
    '_private/x-1.2.json',
    'console.txt',
    'common/com10.txt',
    '0',
    `${'d/'.repeat(7)}${'x'.repeat(114)}`,
  ])('takes %s', (path) => {
    expect(isPackagePath(path)).toBe(true);
  });

  it.each([
    ['', 'nothing'],
    ['/a', 'absolute'],
    ['a/', 'a folder'],
    ['a//b', 'an empty part'],
    ['../a', 'above'],
    ['a/../b', 'above in the middle'],
    ['./a', 'here'],
    ['a/.', 'here at the end'],
    ['.hidden', 'a leading dot'],
    ['-rf', 'a leading dash'],
    ['a.', 'a trailing dot'],
    ['a./b', 'a trailing dot in a folder'],
    ['a\\b', 'a backslash'],
    ['C:/a', 'a drive'],
    ['a:b', 'a stream'],
    ['a b', 'a space'],
    ['a\0b', 'a NUL'],
    ['a\nb', 'a line feed'],
    ['é', 'beyond ASCII'],
    ['a\u202eb', 'an override'],
    ['nul', 'a device'],
    ['src/COM1.txt', 'a device with an extension'],
    ['Aux/x', 'a device as a folder'],
    ['a/b/c/d/e/f/g/h/i', 'too deep'],
    ['x'.repeat(129), 'too long'],
    ['a\n', 'a line feed at the end'],
  ])('refuses %j: %s', (path) => {
    expect(isPackagePath(path)).toBe(false);
  });

  it('takes nothing that leaves its folder or means something to a shell or a terminal', () => {
    const parts = fc.constantFrom(
      '..',
      '.',
      '/',
      '\\',
      'a',
      'B',
      '.',
      '-',
      '_',
      '0',
      'con',
      '\0',
      ' ',
      '~',
      '$',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(parts).map((list) => list.join('')),
    );
    fc.assert(
      fc.property(text, (path) => {
        const isPlain = /^[A-Za-z0-9._/-]+$/.test(path);
        const stays = isPlain && new URL(`./${path}`, 'http://host/folder/').pathname === `/folder/${path}`;
        expect(stays || !isPackagePath(path)).toBe(true);
      }),
      { numRuns: volume(5_000, 30) },
    );
  });
});

describe('collisionOf()', () => {
  it('takes paths that differ, and folders that are shared', () => {
    expect(collisionOf(['a', 'b/a', 'b/c', 'b/d/e', 'c/b'])).toBeNull();
  });

  it.each([
    [['a', 'a'], '"a" is there twice'],
    [['Read.md', 'read.md'], '"Read.md" and "read.md" differ in upper and lower case only'],
    [['a/x', 'A/y'], '"a" and "A" differ in upper and lower case only'],
    [['a', 'a/b'], '"a" is a file and a folder'],
    [['a/b', 'a'], '"a" is a file and a folder'],
    [['a/b/c', 'A'], '"a" and "A" differ'],
  ])('refuses %j', (paths, why) => {
    expect(collisionOf(paths)).toContain(why);
  });
});
