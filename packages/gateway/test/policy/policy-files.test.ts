import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { POLICY_LIMITS } from '../../src/policy/limits.ts';
import { fingerprint, readPolicyFiles } from '../../src/policy/policy-files.ts';
import { makeBed, PERMIT_ALL } from './sample.ts';

describe('readPolicyFiles()', () => {
  test('reads *.cedar in the order of names and leaves other files alone', () => {
    const { directory, write } = makeBed({ 'b.cedar': 'b', 'a.cedar': 'ä' });
    write('README.md', 'x');
    write('a.cedar~', 'x');
    expect(readPolicyFiles(directory)).toEqual({
      files: [
        { name: 'a.cedar', text: 'ä' },
        { name: 'b.cedar', text: 'b' },
      ],
      problems: [],
    });
  });

  const odd: readonly [string, string, (directory: string) => void, RegExp][] = [
    ['a link', 'x.cedar', (d) => symlinkSync('/etc/hostname', join(d, 'x.cedar')), /link/],
    ['a link to a good file', 'x.cedar', (d) => symlinkSync('good.cedar', join(d, 'x.cedar')), /link/],
    ['a pipe', 'x.cedar', (d) => void execFileSync('mkfifo', [join(d, 'x.cedar')]), /regular file/],
    ['a directory', 'x.cedar', (d) => mkdirSync(join(d, 'x.cedar')), /regular file/],
    ['a name in capitals', 'Bad.cedar', (d) => writeFileSync(join(d, 'Bad.cedar'), ''), /file name/],
    [
      'a name that is too long',
      `${'x'.repeat(123)}.cedar`,
      (d) => writeFileSync(join(d, `${'x'.repeat(123)}.cedar`), ''),
      /at most 128/,
    ],
    ['a hidden file', '.x.cedar', (d) => writeFileSync(join(d, '.x.cedar'), ''), /file name/],
    ['a NUL', 'x.cedar', (d) => writeFileSync(join(d, 'x.cedar'), 'a\0b'), /NUL/],
    [
      'bytes that are not UTF-8',
      'x.cedar',
      (d) => writeFileSync(join(d, 'x.cedar'), Buffer.from([0xc3, 0x28])),
      /UTF-8/,
    ],
    [
      'too many bytes',
      'x.cedar',
      (d) => writeFileSync(join(d, 'x.cedar'), ' '.repeat(POLICY_LIMITS.fileBytes + 1)),
      /at most/,
    ],
  ];
  test.each(odd)('refuses %s instead of leaving it out', (_, name, make, message) => {
    const { directory } = makeBed({ 'good.cedar': PERMIT_ALL });
    make(directory);
    const { problems } = readPolicyFiles(directory);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ file: name });
    expect(problems[0]?.message).toMatch(message);
  });

  test('reads a file of exactly the largest size', () => {
    const { directory } = makeBed({ 'x.cedar': ' '.repeat(POLICY_LIMITS.fileBytes) });
    expect(readPolicyFiles(directory).problems).toEqual([]);
  });

  test('refuses more files than the limit and a directory that is gone', () => {
    const { directory } = makeBed(
      Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`f${i}.cedar`, ''])),
    );
    expect(readPolicyFiles(directory).problems[0]?.message).toContain('at most 256');
    rmSync(directory, { recursive: true });
    expect(readPolicyFiles(directory).problems).toMatchObject([
      {
        message: 'Cannot read the policies: the directory is missing',
        hint: `put the policy files back into "${directory}", or run \`palisade init\` where there never were any`,
      },
    ]);
  });
});

describe('fingerprint()', () => {
  test('changes with every way of changing the files, also one that keeps size and time', () => {
    const { directory, write } = makeBed({ 'a.cedar': 'one' });
    const at = new Date(0);
    utimesSync(join(directory, 'a.cedar'), at, at);
    const seen = [fingerprint(directory)];
    const note = () => seen.push(fingerprint(directory));
    write('a.cedar', 'two');
    utimesSync(join(directory, 'a.cedar'), at, at);
    note();
    write('b.cedar', 'x');
    note();
    renameSync(join(directory, 'b.cedar'), join(directory, 'c.cedar'));
    note();
    rmSync(join(directory, 'c.cedar'));
    rmSync(directory, { recursive: true });
    note();
    expect(new Set(seen).size).toBe(seen.length);
  });
});
