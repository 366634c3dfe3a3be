import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { hashBytesOf, isHarmlessIndex } from '../../../src/tiers/workspace/git-index.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

const PATHS = [
  '.gitignore',
  '.github/workflows/ci.yml',
  'a',
  'a b/c',
  'src/.gitkeep',
  'src/git/x',
  'src/gitx~1',
  'z..z/...',
];

function makeRepository(format = 'sha1') {
  const cwd = tempDir();
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_GLOBAL: '/dev/null' };
  const git = (args: readonly string[], input = '') =>
    execFileSync('git', [...args], {
      cwd,
      env,
      input,
      encoding: 'latin1',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  git(['init', '--quiet', `--object-format=${format}`]);
  const blob = git(['hash-object', '-w', '--stdin'], 'x').trim();
  const add = (paths: readonly string[], ...options: string[]) =>
    git(
      [...options, 'update-index', '--add', '-z', '--index-info'],
      paths.map((path) => `100644 ${blob}\t${path}\0`).join(''),
    );
  return { cwd, git, add, index: () => readFileSync(join(cwd, '.git/index')) };
}

/** An index of one path, which may be one that git does not add. */
function craft(path: string, version: number, extension = Buffer.alloc(0)): Buffer {
  const name = Buffer.from(path, 'latin1');
  const head = Buffer.alloc(12);
  head.write('DIRC');
  head.writeUInt32BE(version, 4);
  head.writeUInt32BE(1, 8);
  const facts = Buffer.alloc(62);
  facts.writeUInt16BE(Math.min(name.length, 0xfff), 60);
  const rest =
    version === 4
      ? [Buffer.alloc(1), name, Buffer.alloc(1)]
      : [name, Buffer.alloc(8 - ((62 + name.length) % 8))];
  return sealed(Buffer.concat([head, facts, ...rest, extension]));
}

function sealed(content: Buffer): Buffer {
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
}

function extensionOf(name: string, ...parts: (string | number)[]): Buffer {
  const bytes = parts.map((part) => {
    const number = Buffer.alloc(4);
    if (typeof part === 'number') number.writeUInt32BE(part);
    return typeof part === 'number' ? number : Buffer.from(part, 'latin1');
  });
  const size = Buffer.alloc(4);
  size.writeUInt32BE(Buffer.concat(bytes).length);
  return Buffer.concat([Buffer.from(name), size, ...bytes]);
}

describe('isHarmlessIndex() of what git writes', () => {
  it.each([
    ['version 2', []],
    ['version 4', ['-c', 'index.version=4']],
    ['version 4 in blocks for threads', ['-c', 'index.version=4', '-c', 'index.threads=3']],
    ['version 2 in blocks for threads', ['-c', 'index.threads=3']],
    ['a split index', ['-c', 'core.splitIndex=true']],
    ['a cache of untracked files', ['-c', 'core.untrackedCache=true']],
  ])('passes %s', (_, options) => {
    const { add, git, index, cwd } = makeRepository();
    add(PATHS, ...options);
    expect(isHarmlessIndex(index(), 20)).toBe(true);
    git(
      [...options, 'commit', '--quiet', '--message=x', '--author=a <a@b>'].toSpliced(
        0,
        0,
        '-c',
        'user.name=a',
        '-c',
        'user.email=a@b',
      ),
    );
    add(['n/new', 'a'], ...options);
    git([...options, 'update-index', '--skip-worktree', 'a']);
    expect(isHarmlessIndex(index(), 20)).toBe(true);
    expect(index().includes('IEOT')).toBe(options.includes('index.threads=3'));
    const shared = readdirSync(join(cwd, '.git')).filter((name) => name.startsWith('sharedindex.'));
    expect(shared.length > 0).toBe(options.includes('core.splitIndex=true'));
    for (const name of shared) expect(isHarmlessIndex(readFileSync(join(cwd, '.git', name)), 20)).toBe(true);
  });

  it('passes names of objects by SHA-256, where the configuration says so', () => {
    const { add, index, cwd } = makeRepository('sha256');
    add(PATHS);
    expect(hashBytesOf(readFileSync(join(cwd, '.git/config')))).toBe(32);
    expect(hashBytesOf(null)).toBe(20);
    expect(isHarmlessIndex(index(), 32)).toBe(true);
    expect(isHarmlessIndex(index(), 20)).toBe(false);
  });

  test('passes any paths, in every version', () => {
    const { add, git, index } = makeRepository();
    const name = fc.string({ unit: fc.constantFrom(...'ab.~ 1gitG\u00e9-'), minLength: 1, maxLength: 12 });
    const paths = fc.array(
      fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/')),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(paths, fc.constantFrom(2, 4), (some, version) => {
        git(['read-tree', '--empty']);
        const isAdded = (() => {
          try {
            return add(some, '-c', `index.version=${version}`, '-c', 'core.protectHFS=true') === '';
          } catch {
            return false;
          }
        })();
        // What git itself refuses to add never reaches its index.
        if (isAdded) expect(isHarmlessIndex(index(), 20)).toBe(true);
      }),
      { numRuns: volume(200, 15) },
    );
  });
});

describe('isHarmlessIndex() of what an attacker writes', () => {
  const REFUSED = [
    '.git/hooks/post-checkout',
    '.GIT/config',
    'sub/.git/config',
    '../outside',
    'a/../../outside',
    'a/..',
    './a',
    'a//b',
    '/etc/passwd',
    '.git /config',
    '.git./config',
    '.git::$INDEX_ALLOCATION/config',
    'git~1/config',
    '.git\\config',
    '.g\u00e2\u0080\u008cit/config',
    'a\0../../x',
  ];

  it.each([2, 3, 4])('refuses paths that git would not add, in version %d', (version) => {
    expect(isHarmlessIndex(craft('a/b', version), 20)).toBe(true);
    expect(isHarmlessIndex(craft('n'.repeat(4_096), version), 20)).toBe(true);
    for (const path of REFUSED)
      expect([path, isHarmlessIndex(craft(path, version), 20)]).toEqual([path, false]);
  });

  it('refuses a path that only its prefix makes dangerous', () => {
    const { add, index } = makeRepository();
    add(['x.git/a', 'x.git/b'], '-c', 'index.version=4');
    const content = index().subarray(0, -20);
    const at = content.indexOf('x.git/a');
    expect(isHarmlessIndex(index(), 20)).toBe(true);
    content.write('./.git', at);
    expect(isHarmlessIndex(sealed(content), 20)).toBe(false);
  });

  it('refuses extensions that send a second thread elsewhere', () => {
    const plain = craft('a', 2);
    const entriesEnd = plain.length - 20;
    const hash = '\0'.repeat(20);
    const judge = (...parts: Buffer[]) => isHarmlessIndex(craft('a', 2, Buffer.concat(parts)), 20);
    expect(judge(extensionOf('IEOT', 1, 12, 1), extensionOf('EOIE', entriesEnd, hash))).toBe(true);
    expect(judge(extensionOf('IEOT', 1, 16, 1))).toBe(false);
    expect(judge(extensionOf('IEOT', 1, 12, 2))).toBe(false);
    expect(judge(extensionOf('EOIE', entriesEnd - 8, hash))).toBe(false);
    // In the data of another extension, where git finds it as well.
    expect(judge(extensionOf('UNTR', 'EOIE', 24, 16, hash))).toBe(false);
    expect(judge(extensionOf('evil'))).toBe(false);
  });

  test('never throws, and passes nothing whose paths git reads differently', () => {
    const { cwd, git, add, index } = makeRepository();
    const seeds = [2, 4].map((version) => {
      git(['read-tree', '--empty']);
      add(PATHS, '-c', `index.version=${version}`, '-c', 'index.threads=2');
      return index().subarray(0, -20);
    });
    const change = fc.record({
      at: fc.nat(2_000),
      byte: fc.constantFrom(0, 1, 2, 4, 8, 0x2e, 0x2f, 0x40, 0x7f, 0xff),
    });
    mkdirSync(join(cwd, 'o'));
    let passed = 0;
    const mutants = fc.property(
      fc.constantFrom(...seeds),
      fc.array(change, { maxLength: 3 }),
      fc.nat(60),
      (seed, changes, cut) => {
        const bytes = Buffer.from(seed);
        for (const { at, byte } of changes) bytes[at % bytes.length] = byte;
        const whole = sealed(cut < 50 ? bytes : bytes.subarray(0, -cut));
        if (!isHarmlessIndex(whole, 20)) return;
        passed += 1;
        writeFileSync(join(cwd, '.git/index'), whole);
        const list = (() => {
          try {
            return git(['ls-files', '-z']).split('\0').slice(0, -1);
          } catch {
            return [];
          }
        })();
        const isBad = (path: string) => /^\/|(?:^|\/)(?:\.\.?|\.git|)(?:\/|$)/i.test(path) && path !== '';
        expect(list.filter(isBad)).toEqual([]);
      },
    );
    fc.assert(mutants, { numRuns: volume(1_000, 60) });
    expect(passed).toBeGreaterThan(0);
  });

  test('any bytes at all are an answer', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 400 }),
        fc.constantFrom(2, 3, 4),
        fc.nat(5),
        (body, version, count) => {
          const head = Buffer.from(
            `DIRC\0\0\0${String.fromCharCode(version)}\0\0\0${String.fromCharCode(count)}`,
            'latin1',
          );
          expect(isHarmlessIndex(Buffer.concat([head, body]), 20)).toBeTypeOf('boolean');
          expect(isHarmlessIndex(Buffer.from(body), 32)).toBe(false);
        },
      ),
      { numRuns: volume(5_000, 300) },
    );
  });

  test('a header that promises more entries than there are bytes costs nothing', () => {
    const bytes = craft('a', 2);
    bytes.writeUInt32BE(0xffffffff, 8);
    expect(isHarmlessIndex(bytes, 20)).toBe(false);
  });
});
