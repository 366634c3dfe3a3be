import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { PACKAGE_LIMITS } from '../../../src/skills/limits.ts';
import { readArchive, writeArchive } from '../../../src/skills/package/archive.ts';
import { collisionOf, isPackagePath } from '../../../src/skills/package/paths.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { rawEntries, rawZip } from './raw-zip.ts';

const segment = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,6}$/);
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'));
const files = fc
  .array(fc.tuple(path.filter(isPackagePath), fc.uint8Array({ maxLength: 200 })), { maxLength: 12 })
  .filter((list) => collisionOf(list.map(([each]) => each)) === null)
  .filter((list) => !list.some(([each]) => /\.(wasm|wat|wast)$/i.test(each)));

describe('an archive', () => {
  it('gives back the files that were put in, in the order of their paths', () => {
    fc.assert(
      fc.property(files, (list) => {
        const sorted = [...list].sort(([a], [b]) => (a < b ? -1 : 1));
        expect([...readArchive(writeArchive(new Map(list)))]).toEqual(sorted);
      }),
    );
  });

  it('is the same bytes for the same files in any order', () => {
    fc.assert(
      fc.property(files, fc.nat(), (list, turn) => {
        const at = list.length === 0 ? 0 : turn % list.length;
        const turned = [...list.slice(at), ...list.slice(0, at)].reverse();
        expect(writeArchive(new Map(turned))).toEqual(writeArchive(new Map(list)));
      }),
    );
  });

  it('is what another writer makes of the same files', () => {
    fc.assert(
      fc.property(files, (list) => {
        const sorted = [...list].sort(([a], [b]) => (a < b ? -1 : 1));
        expect(writeArchive(new Map(list))).toEqual(rawZip({ entries: rawEntries(sorted) }));
      }),
    );
  });

  it('has no second form: no byte of it can be another', () => {
    const archive = writeArchive(
      new Map([
        ['a', Buffer.from('one')],
        ['b/c', Buffer.from('two')],
      ]),
    );
    const taken: number[] = [];
    for (let at = 0; at < archive.length; at += 1) {
      for (const bit of [1, 0x20, 0x80]) {
        const other = new Uint8Array(archive);
        other[at] = (other[at] ?? 0) ^ bit;
        if (isTaken(other)) taken.push(at);
      }
    }
    expect(isTaken(archive)).toBe(true);
    expect(taken).toEqual([]);
  });

  it('reads any bytes without more than a refusal', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(isTaken(bytes)).toBe(false);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });

  it('can be opened by a program that knows nothing of skills', () => {
    const file = join(tempDir(), 'skill.zip');
    const contents = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 251));
    writeFileSync(
      file,
      writeArchive(
        new Map([
          ['skill.toml', Buffer.from('x = 1\n')],
          ['src/data.bin', contents],
        ]),
      ),
    );
    const script = [
      'import json, sys, zipfile',
      'z = zipfile.ZipFile(sys.argv[1])',
      'print(json.dumps([z.testzip(), z.namelist(), z.read("src/data.bin").hex()]))',
    ].join('\n');
    const out = execFileSync('python3', ['-c', script, file], { encoding: 'utf8' });
    expect(JSON.parse(out)).toEqual([null, ['skill.toml', 'src/data.bin'], contents.toString('hex')]);
  });
});

describe('writeArchive()', () => {
  const many = new Map(Array.from({ length: 513 }, (_, index) => [`f${index}`, new Uint8Array()]));
  const huge = new Uint8Array(PACKAGE_LIMITS.entryBytes + 1);
  const large = huge.subarray(1);

  it.each<[string, ReadonlyMap<string, Uint8Array>, string]>([
    ['a path that leaves', new Map([['../a', new Uint8Array()]]), 'its path is not plain'],
    [
      'two spellings',
      new Map([
        ['a', huge.subarray(0, 1)],
        ['A', new Uint8Array()],
      ]),
      'upper and lower case',
    ],
    ['too many files', many, 'it has 513 entries, expected at most 512'],
    ['a file too large', new Map([['a', huge]]), 'expected at most 33554432'],
    [
      'a package too large',
      new Map([
        ['a', large],
        ['b', large],
      ]),
      'expected at most 67108864',
    ],
    [
      'text as a module',
      new Map([['a.wasm', Buffer.from('(module)')]]),
      'is not a binary WebAssembly module',
    ],
    ['a module as text', new Map([['a.WAT', Buffer.from('(module)')]]), 'WebAssembly in its text form'],
    ['a script as text', new Map([['a.wast', Buffer.from('(module)')]]), 'WebAssembly in its text form'],
  ])('refuses %s', (_, entries, why) => {
    expect(() => writeArchive(entries)).toThrow(
      expect.objectContaining({ code: 'skill/invalid-package', message: expect.stringContaining(why) }),
    );
  });

  it('takes as many files as the limit says', () => {
    const most = new Map([...many].slice(1));
    expect(readArchive(writeArchive(most)).size).toBe(512);
  });
});

/** Whether the reader takes it; anything else than a refusal with a code is passed on. */
function isTaken(bytes: Uint8Array): boolean {
  try {
    readArchive(bytes);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ name: 'CodedError', code: 'skill/invalid-package' });
    return false;
  }
}
