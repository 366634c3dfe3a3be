import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import { type Digest, digestBytes } from '../../src/core/digest.ts';
import { Artifacts } from '../../src/skills/artifacts.ts';
import { PACKAGE_LIMITS } from '../../src/skills/limits.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const NOBODY = 65_534;
const HOUR_MS = 3_600_000;
const BYTES = Buffer.from('PK the bytes of a package');
const ARTIFACT = digestBytes(BYTES);

function world() {
  const dir = join(tempDir(), 'state', 'skills');
  const artifacts = new Artifacts(dir);
  artifacts.write(BYTES, ARTIFACT);
  const path = join(dir, ARTIFACT);
  return { dir, path, artifacts, read: () => refusal(() => artifacts.read(ARTIFACT)) };
}

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof CodedError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'done';
}

describe('a package', () => {
  it('is read back as it was written, from a file of its owner alone', () => {
    const { dir, path, artifacts } = world();
    expect(artifacts.read(ARTIFACT)).toEqual(BYTES);
    expect([lstatSync(path).mode & 0o7777, lstatSync(dir).mode & 0o7777]).toEqual([0o600, 0o700]);
    expect(readdirSync(dir)).toEqual([ARTIFACT]);
  });

  it.each([0, 1, 65_536, 3 * 1024 * 1024 + 1])('of %d bytes is kept whole', (size) => {
    const { artifacts } = world();
    const bytes = Buffer.alloc(size, 'palisade');
    artifacts.write(bytes, digestBytes(bytes));
    expect(digestBytes(artifacts.read(digestBytes(bytes)))).toBe(digestBytes(bytes));
  });

  it('has its mode whatever the umask is', () => {
    const artifacts = new Artifacts(tempDir());
    const umask = process.umask(0o277);
    onTestFinished(() => {
      process.umask(umask);
    });
    artifacts.write(BYTES, ARTIFACT);
    expect(artifacts.read(ARTIFACT)).toEqual(BYTES);
  });

  it('is not written under the digest of others', () => {
    const { dir, artifacts } = world();
    const other = digestBytes('others');
    expect(() => artifacts.write(BYTES, other)).toThrow('its bytes have another digest');
    expect(readdirSync(dir)).toEqual([ARTIFACT]);
  });

  it('that was changed is whole again when it is written again', () => {
    const { path, artifacts, read } = world();
    writeFileSync(path, 'evil');
    expect(read()).toContain('skill/changed');
    artifacts.write(BYTES, ARTIFACT);
    expect(artifacts.read(ARTIFACT)).toEqual(BYTES);
  });

  it('takes the place of a link without following it', () => {
    const { dir, path, artifacts } = world();
    const target = join(dir, 'target');
    writeFileSync(target, 'mine');
    rmSync(path);
    symlinkSync(target, path);
    artifacts.write(BYTES, ARTIFACT);
    expect([lstatSync(path).isSymbolicLink(), readFileSync(target, 'utf8')]).toEqual([false, 'mine']);
  });

  it('is removed once, and then again', () => {
    const { dir, artifacts, read } = world();
    artifacts.remove(ARTIFACT);
    artifacts.remove(ARTIFACT);
    expect([readdirSync(dir), read()]).toEqual([[], expect.stringContaining('skill/changed')]);
  });

  it.each(['../../etc/passwd', '', 'a', `${ARTIFACT}.new`, `${ARTIFACT.slice(1)}/`, ARTIFACT.toUpperCase()])(
    'is never named %j',
    (name) => {
      const { artifacts } = world();
      const raw = name as Digest;
      for (const act of [
        () => artifacts.read(raw),
        () => artifacts.stampOf(raw),
        () => artifacts.remove(raw),
        () => artifacts.write(BYTES, raw),
      ]) {
        expect(refusal(act)).toBe('store/corrupt: Cannot name a package: expected a digest');
      }
    },
  );
});

describe('read() refuses with skill/changed', () => {
  it('nothing while nobody touched the file', () => {
    expect(world().read()).toBe('done');
  });

  it.each<[string, (path: string) => void, string]>([
    ['one that is gone', (path) => rmSync(path), 'it is missing, expected a file'],
    ['one that was changed by one byte', flipOneByte, 'its bytes differ from those that were installed'],
    ['one that was cut', (path) => truncateSync(path, BYTES.length - 1), 'its bytes differ'],
    ['one that was emptied', (path) => truncateSync(path, 0), 'its bytes differ'],
    ['one that has a byte more', (path) => appendFileSync(path, '\0'), 'its bytes differ'],
    [
      'one that is too long',
      (path) => truncateSync(path, PACKAGE_LIMITS.packageBytes + 1),
      'it has 67108865 bytes, expected at most 67108864',
    ],
    ['one that others can read', (path) => chmodSync(path, 0o644), 'its mode is 0644, expected 0600'],
    ['one that its group can read', (path) => chmodSync(path, 0o640), 'its mode is 0640, expected 0600'],
    ['one that can be run', (path) => chmodSync(path, 0o700), 'its mode is 0700, expected 0600'],
    ['one with a special bit', (path) => chmodSync(path, 0o4600), 'its mode is 4600, expected 0600'],
    ['a link to the very same bytes', linkToCopy, 'it is a link, expected the file itself'],
    ['a link to nowhere', (path) => replace(path, () => symlinkSync('nowhere', path)), 'it is a link'],
    [
      'a pipe, without waiting for anybody',
      (path) => replace(path, () => execFileSync('mkfifo', ['-m', '600', path])),
      'it is something else, expected a regular file',
    ],
    [
      'a directory',
      (path) => replace(path, () => mkdirSync(path, { mode: 0o600 })),
      'expected a regular file',
    ],
  ])('%s', (_, change, is) => {
    const { path, read } = world();
    change(path);
    expect(read()).toContain(`skill/changed: Cannot use the package sha256:${ARTIFACT}: it`);
    expect(read()).toContain(is);
  });

  it('a socket', async () => {
    const { dir, path, read } = world();
    rmSync(path);
    // A path of a socket is short, and the one of a test need not be.
    const cwd = process.cwd();
    process.chdir(dir);
    const server = createServer().listen(ARTIFACT);
    await new Promise((resolve) => server.once('listening', resolve));
    process.chdir(cwd);
    onTestFinished(() => void server.close());
    expect(read()).toContain('skill/changed');
    expect(read()).toContain('expected a regular file');
  });

  it('one of another owner, or one that its owner cannot read', () => {
    const { path, read } = world();
    // Only root can give a file away; and root alone reads whatever its mode is.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) chownSync(path, NOBODY, NOBODY);
    else chmodSync(path, 0);
    expect(read()).toContain(
      isRoot ? 'it belongs to the user 65534, expected the user 0' : 'it cannot be read',
    );
  });

  it('one whose directory became a file', () => {
    const { dir, read } = world();
    rmSync(dir, { recursive: true });
    writeFileSync(dir, '');
    expect(read()).toContain('skill/changed');
  });
});

function flipOneByte(path: string): void {
  const bytes = readFileSync(path);
  bytes[3] = (bytes[3] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

function linkToCopy(path: string): void {
  renameSync(path, `${path}.copy`);
  symlinkSync(`${path}.copy`, path);
}

function replace(path: string, make: () => void): void {
  rmSync(path);
  make();
}

describe('stampOf()', () => {
  it('stays the same while nobody touches the file, and is null where there is none', () => {
    const { artifacts } = world();
    const before = artifacts.stampOf(ARTIFACT);
    artifacts.read(ARTIFACT);
    expect(artifacts.stampOf(ARTIFACT)).toBe(before);
    artifacts.remove(ARTIFACT);
    expect([before === null, artifacts.stampOf(ARTIFACT)]).toEqual([false, null]);
  });

  it.each<[string, (path: string) => void]>([
    ['its bytes', (path) => flipOneByte(path)],
    [
      'its bytes, with the time put back',
      (path) => {
        const { atime, mtime } = statSync(path);
        flipOneByte(path);
        utimesSync(path, atime, mtime);
      },
    ],
    ['its length', (path) => appendFileSync(path, 'x')],
    ['its mode', (path) => chmodSync(path, 0o640)],
    ['a link in its place', linkToCopy],
    [
      'another file with the same bytes in its place',
      (path) => {
        writeFileSync(`${path}.copy`, BYTES, { mode: 0o600 });
        renameSync(`${path}.copy`, path);
      },
    ],
    ['a second name', (path) => linkSync(path, `${path}.second`)],
  ])('changes with %s', (_, change) => {
    const { path, artifacts } = world();
    const before = artifacts.stampOf(ARTIFACT);
    change(path);
    expect(artifacts.stampOf(ARTIFACT)).not.toBe(before);
    expect(artifacts.stampOf(ARTIFACT)).not.toBeNull();
  });
});

describe('sweep()', () => {
  const old = (path: string, ms: number) => {
    const { mtimeMs } = statSync(path);
    utimesSync(path, (mtimeMs - ms) / 1000, (mtimeMs - ms) / 1000);
  };

  it('removes what no version needs and what was never finished, once it is old enough', () => {
    const { dir, path, artifacts } = world();
    const other = digestBytes('others');
    const [young, half, halfYoung, ours] = [
      join(dir, digestBytes('young')),
      join(dir, `${other}.4711-0.new`),
      join(dir, `${other}.4711-1.new`),
      join(dir, 'notes.txt'),
    ] as const;
    artifacts.write(Buffer.from('others'), other);
    for (const file of [young, half, halfYoung, ours]) writeFileSync(file, '', { mode: 0o600 });
    for (const file of [path, join(dir, other), half, ours]) old(file, 2 * HOUR_MS);
    expect(artifacts.sweep(new Set([ARTIFACT]), HOUR_MS)).toBe(2);
    expect(
      readdirSync(dir)
        .map((name) => join(dir, name))
        .sort(),
    ).toEqual([path, young, halfYoung, ours].sort());
    expect(artifacts.sweep(new Set(), HOUR_MS)).toBe(1);
    expect(existsSync(path)).toBe(false);
  });

  it('leaves a package that was just written again, however old it was', () => {
    const { path, artifacts } = world();
    old(path, 2 * HOUR_MS);
    artifacts.write(BYTES, ARTIFACT);
    expect(artifacts.sweep(new Set(), HOUR_MS)).toBe(0);
    expect(artifacts.read(ARTIFACT)).toEqual(BYTES);
  });

  it('does nothing where nothing was ever installed', () => {
    const dir = join(tempDir(), 'none');
    expect(new Artifacts(dir).sweep(new Set(), 0)).toBe(0);
    expect(existsSync(dir)).toBe(false);
  });

  it('leaves directories and what links lead to alone', () => {
    const { dir, path, artifacts } = world();
    const target = join(tempDir(), 'target');
    writeFileSync(target, 'mine');
    rmSync(path);
    symlinkSync(target, path);
    mkdirSync(join(dir, digestBytes('a folder')));
    expect(artifacts.sweep(new Set(), -HOUR_MS)).toBe(1);
    expect([existsSync(target), readdirSync(dir)]).toEqual([true, [digestBytes('a folder')]]);
  });
});
