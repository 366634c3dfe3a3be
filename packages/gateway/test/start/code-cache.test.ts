import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CodeCache } from '../../src/start/code-cache.ts';

const CODE = Buffer.from('what the pack was compiled to');
const DIGESTS: Readonly<Record<string, string>> = { client: 'a'.repeat(64), gateway: 'b'.repeat(64) };

let base = '';
let folder = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'palisade-code-cache-'));
  folder = join(base, 'code');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(base, { recursive: true, force: true });
});

function cacheOf({
  digests = DIGESTS,
  versionTag = 7,
  profile = 'exec',
  alsoOf = null as number | null,
} = {}) {
  return new CodeCache({
    ...{ versionTag, profile, writeTo: folder, folders: [{ path: folder, alsoOf }] },
    digestOf: (pack) => digests[pack] ?? '',
  });
}

/** The file that the cache of `client` is in. */
function written(): string {
  cacheOf().write('client', CODE);
  const [name = ''] = readdirSync(folder);
  return join(folder, name);
}

describe('a code cache', () => {
  test('gives back what was written, of its pack, version and profile alone', () => {
    written();
    expect(cacheOf().read('client')).toEqual(CODE);
    expect(cacheOf().read('gateway')).toBeNull();
    expect(cacheOf({ versionTag: 8 }).read('client')).toBeNull();
    expect(cacheOf({ profile: 'call' }).read('client')).toBeNull();
    expect(cacheOf({ digests: { client: 'c'.repeat(64) } }).read('client')).toBeNull();
  });

  test('is in a folder and in files of its owner alone', () => {
    const path = written();
    expect(execFileSync('stat', ['-c', '%a', folder, path], { encoding: 'utf8' })).toBe('700\n600\n');
  });

  test('leaves nothing half written, and takes no notice of what a crash left', () => {
    const path = written();
    rmSync(path);
    writeFileSync(`${path}.123.new`, CODE, { mode: 0o600 });
    expect(cacheOf().read('client')).toBeNull();
    expect(existsSync(written())).toBe(true);
  });

  test('is not written where there is no place for it, and nothing fails', () => {
    writeFileSync(folder, 'a file');
    expect(() => cacheOf().write('client', CODE)).not.toThrow();
    expect(cacheOf().read('client')).toBeNull();
  });

  test('keeps the files of the newest versions', () => {
    for (let versionTag = 0; versionTag < 60; versionTag += 1) cacheOf({ versionTag }).write('client', CODE);
    expect(readdirSync(folder).length).toBe(48);
    expect(cacheOf({ versionTag: 59 }).read('client')).toEqual(CODE);
  });
});

/** Ways to have other bytes run than those that were compiled here; each leaves the cache in place. */
const TAMPERED: readonly (readonly [what: string, tamper: (path: string) => void])[] = [
  ['a changed byte of the code', (path) => writeAt(path, -1)],
  ['a changed byte of the header', (path) => writeAt(path, 20)],
  ['an end that is cut off', (path) => truncateSync(path, readFileSync(path).length - 1)],
  ['no more than a header', (path) => truncateSync(path, 88)],
  ['an empty file', (path) => truncateSync(path, 0)],
  ['a file that others can write', (path) => chmodSync(path, 0o622)],
  ['a file that the group can write', (path) => chmodSync(path, 0o620)],
  ['a folder that others can write', () => chmodSync(folder, 0o777)],
  ['a folder that the group can write', () => chmodSync(folder, 0o770)],
  [
    'a link to the file',
    (path) => {
      renameSync(path, join(base, 'elsewhere'));
      symlinkSync(join(base, 'elsewhere'), path);
    },
  ],
  [
    'a link to the folder',
    () => {
      renameSync(folder, join(base, 'elsewhere'));
      symlinkSync(join(base, 'elsewhere'), folder);
    },
  ],
  [
    'a pipe',
    (path) => {
      rmSync(path);
      execFileSync('mkfifo', ['-m', '600', path]);
    },
  ],
  [
    'a directory',
    (path) => {
      rmSync(path);
      mkdirSync(path);
    },
  ],
  [
    'the code of another pack',
    (path) => {
      cacheOf().write('gateway', Buffer.from('other code'));
      const other = readdirSync(folder).find((name) => name.startsWith('gateway')) ?? '';
      copyFileSync(join(folder, other), path);
    },
  ],
  [
    'the code of another version',
    (path) => {
      cacheOf({ versionTag: 8 }).write('client', Buffer.from('other code'));
      const other = readdirSync(folder).find((name) => name.endsWith('-8.v8')) ?? '';
      copyFileSync(join(folder, other), path);
    },
  ],
];

function writeAt(path: string, index: number): void {
  const bytes = readFileSync(path);
  const at = index < 0 ? bytes.length + index : index;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

describe('a code cache is not loaded', () => {
  test.each(TAMPERED)('with %s', (_, tamper) => {
    const path = written();
    expect(cacheOf().read('client')).toEqual(CODE);
    tamper(path);
    expect(cacheOf().read('client')).toBeNull();
  });

  test('where it belongs to another user, unless the program does as well', () => {
    written();
    const own = process.geteuid?.() ?? 0;
    vi.spyOn(process, 'geteuid').mockReturnValue(own + 1);
    expect(cacheOf().read('client')).toBeNull();
    expect(cacheOf({ alsoOf: own + 2 }).read('client')).toBeNull();
    expect(cacheOf({ alsoOf: own }).read('client')).toEqual(CODE);
  });
});

test('what was read of a code cache stays what was checked, however the file changes', () => {
  const path = written();
  const read = cacheOf().read('client');
  writeFileSync(path, Buffer.alloc(readFileSync(path).length, 'x'));
  expect(read).toEqual(CODE);
});

test('a code cache is not written into a folder that others can write', () => {
  mkdirSync(folder, { mode: 0o700 });
  chmodSync(folder, 0o777);
  cacheOf().write('client', CODE);
  expect(readdirSync(folder)).toEqual([]);
});
