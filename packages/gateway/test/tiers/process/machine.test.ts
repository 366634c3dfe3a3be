import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileState, findProgram, textOf } from '../../../src/tiers/process/machine.ts';
import { openDirectory, script } from './machine-sample.ts';

const MISSING = { why: 'it is not there', fix: 'install it' };

describe('findProgram()', () => {
  test('gives the first that is there, behind its links, with the digest of its bytes', () => {
    const path = script(['exit 0']);
    const link = join(openDirectory(), 'link');
    symlinkSync(path, link);
    const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
    expect(findProgram(['/nowhere/x', link, '/bin/sh'], MISSING)).toEqual({
      ok: true,
      value: { path, sha256 },
    });
  });

  test('gives what is missing where none is there, a link to nowhere included', () => {
    const link = join(openDirectory(), 'link');
    symlinkSync('/nowhere/x', link);
    expect(findProgram([link], MISSING)).toEqual({ ok: false, problem: { ...MISSING } });
  });

  test.each([
    ['a directory', (path: string) => mkdirSync(path)],
    ['a file that nobody may execute', (path: string) => writeFileSync(path, '', { mode: 0o644 })],
  ])('refuses %s', (_, make) => {
    const path = join(openDirectory(), 'program');
    make(path);
    const found = findProgram([path], MISSING);
    expect(found).toMatchObject({ ok: false, problem: { fix: expect.any(String) } });
  });

  test('refuses a program in a directory that all can write to, and takes it once they cannot', () => {
    const open = join(openDirectory(), 'open');
    mkdirSync(join(open, 'bin'), { recursive: true });
    const path = join(open, 'bin/program');
    writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 });
    chmodSync(open, 0o777);
    expect(findProgram([path], MISSING)).toEqual({
      ok: false,
      problem: { why: `"${path}" can be replaced by others in "${open}"`, fix: `chmod o-w ${open}` },
    });
    chmodSync(open, 0o755);
    expect(findProgram([path], MISSING)).toMatchObject({ ok: true, value: { path } });
  });

  test('does not go on to another place when the first is weak', () => {
    const weak = script(['exit 0'], 0o777);
    expect(findProgram([weak, '/bin/sh'], MISSING)).toEqual({
      ok: false,
      problem: { why: `"${weak}" can be changed by others`, fix: `chmod go-w ${weak}` },
    });
  });
});

test('textOf() gives null for what is not there', () => {
  expect(textOf('/proc/self/status')).toContain('Seccomp:');
  expect(textOf('/nowhere/x')).toBeNull();
});

test('fileState() differs after a change of a file that keeps its size and its times of change', () => {
  const path = script(['exit 0']);
  const { atime, mtime } = statSync(path);
  const before = fileState(path);
  expect(fileState(path)).toBe(before);
  writeFileSync(path, readFileSync(path, 'utf8').replace('0', '1'));
  utimesSync(path, atime, mtime);
  expect(fileState(path)).not.toBe(before);
  rmSync(path);
  expect(fileState(path)).toBe('');
});
