import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import { readSecretFile } from '../../src/runner/secrets.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const NOBODY = 65_534;
const VALUE = 'ghp_canary0123456789';

/** A file of one's own with this content. */
function fileWith(content: string | Uint8Array, mode = 0o600): string {
  const path = join(tempDir(), 'token');
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

/** The message of the refusal; what is read, or anything else that is thrown, fails the test. */
function refusalOf(path: string): string {
  try {
    readSecretFile(path);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    expect(error.code).toBe('config/invalid');
    expect(error.message).toMatch(/^Cannot use the secret file ".*": .*, expected /);
    expect(error.message).not.toContain('canary');
    return error.message;
  }
  throw new Error('the file was taken');
}

describe('readSecretFile()', () => {
  it.each([
    ['without a line end', VALUE],
    ['with a line end', `${VALUE}\n`],
    ['with the line end of Windows', `${VALUE}\r\n`],
    ['with lines after it', `${VALUE}\nsecond line\n`],
    ['after a byte order mark', `\ufeff${VALUE}\n`],
  ])('gives the first line %s', (_, content) => {
    expect(readSecretFile(fileWith(content))).toBe(VALUE);
  });

  it.each([0o600, 0o400, 0o700])('takes a file of mode %o', (mode) => {
    expect(readSecretFile(fileWith(VALUE, mode))).toBe(VALUE);
  });

  it.each([
    [0o644, '0644'],
    [0o640, '0640'],
    [0o620, '0620'],
    [0o604, '0604'],
    [0o601, '0601'],
    [0o660, '0660'],
  ])('refuses a file that others can read, write or execute, of mode %o', (mode, shown) => {
    const path = fileWith(VALUE, mode);
    expect(refusalOf(path)).toContain(`its mode is ${shown}, expected 0600 or less`);
    chmodSync(path, 0o600);
    expect(readSecretFile(path)).toBe(VALUE);
  });

  it('refuses a link, also one to a file that would do', () => {
    const target = fileWith(VALUE);
    const link = join(tempDir(), 'link');
    symlinkSync(target, link);
    expect(refusalOf(link)).toContain('it is a link, expected the file itself');
  });

  it('refuses a directory, a device, and a pipe without waiting for its writer', () => {
    const directory = join(tempDir(), 'directory');
    mkdirSync(directory, { mode: 0o700 });
    const pipe = join(tempDir(), 'pipe');
    execFileSync('mkfifo', ['-m', '600', pipe]);
    for (const path of [directory, pipe, '/dev/null', '/dev/zero']) {
      expect(refusalOf(path)).toContain('it is something else, expected a regular file');
    }
  });

  it('refuses a file that is not there or lies beneath a file', () => {
    expect(refusalOf(join(tempDir(), 'none'))).toContain('it does not exist, expected a readable file');
    expect(refusalOf(join(fileWith(VALUE), 'none'))).toContain('it gives ENOTDIR');
  });

  it('refuses a file of another user, which root alone could read', () => {
    const isRoot = process.geteuid?.() === 0;
    const path = isRoot ? fileWith(VALUE) : '/etc/shadow';
    if (isRoot) chownSync(path, NOBODY, NOBODY);
    expect(refusalOf(path)).toContain(
      isRoot ? 'it belongs to the user 65534, expected one of the user 0 or of root' : 'it gives EACCES',
    );
  });

  it.each([
    ['nothing', ''],
    ['an empty first line', '\ncanary\n'],
    ['an empty first line of Windows', '\r\ncanary\r\n'],
    ['a byte order mark alone', '\ufeff'],
  ])('refuses %s', (_, content) => {
    expect(refusalOf(fileWith(content))).toContain('it is empty, expected a text');
  });

  it.each([
    ['a line break in the middle of the line', 'canary\rX-Evil: 1', 'it has a line break'],
    ['two carriage returns', 'canary\r\r\n', 'it has a line break'],
    ['a NUL', 'canary\0more', 'it has a NUL'],
    ['an escape', 'canary\x1b[31m', 'it has a control character'],
    ['a tab', 'canary\tmore', 'it has a control character'],
    ['a space before it', ' canary', 'it begins or ends with white space'],
    ['a space behind it', 'canary \n', 'it begins or ends with white space'],
    ['too many characters', `canary${'x'.repeat(8_187)}`, 'it has 8193 characters, expected at most 8192'],
  ])('refuses a value with %s', (_, content, why) => {
    expect(refusalOf(fileWith(content))).toContain(why);
  });

  it('refuses bytes that are not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('canary'), Buffer.from([0xff])]);
    expect(refusalOf(fileWith(bytes))).toContain('it is not UTF-8, expected UTF-8 text');
  });

  it('takes 64 KiB and refuses one byte more, however large the file claims to be', () => {
    const path = fileWith(`${VALUE}\n${'#'.repeat(64 * 1024 - VALUE.length - 1)}`);
    expect(readSecretFile(path)).toBe(VALUE);
    writeFileSync(path, '#', { flag: 'a' });
    expect(refusalOf(path)).toContain('it is too large, expected at most 65536 bytes');
    truncateSync(path, 2 ** 40);
    expect(refusalOf(path)).toContain('it is too large');
  });

  it('gives one line without control characters, or refuses, whatever the file holds', () => {
    const path = fileWith('');
    const text = fc.string({
      unit: fc.constantFrom('a', 'ü', '\n', '\r', '\0', ' ', '\ufeff', '\x85'),
      maxLength: 6,
    });
    let taken = 0;
    fc.assert(
      fc.property(text, (content) => {
        writeFileSync(path, content);
        try {
          const value = readSecretFile(path);
          expect(value).toMatch(/^[^\p{Cc}]+$/u);
          expect(content).toContain(value);
          taken += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(CodedError);
        }
      }),
      { numRuns: 500 },
    );
    expect(taken).toBeGreaterThan(10);
  });
});
