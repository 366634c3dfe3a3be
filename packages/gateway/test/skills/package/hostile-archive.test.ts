import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readArchive } from '../../../src/skills/package/archive.ts';
import { openPackage } from '../../../src/skills/package/open-package.ts';
import { type RawEntry, type RawZip, rawEntries, rawZip } from './raw-zip.ts';
import { moduleBy, signedSample, unsignedSample } from './sample.ts';

const SIGNED = signedSample();
const ENTRIES = rawEntries(readArchive(SIGNED));
const AT_SKILL = ENTRIES.findIndex(({ path }) => path === 'skill.toml');
const NUL = Buffer.alloc(1);

/** The package with one more file, in the order of the paths. */
const plus = (entry: Partial<RawEntry>): RawZip => ({
  entries: [...ENTRIES, { path: 'zzz', contents: Buffer.from('more'), ...entry }].sort((a, b) =>
    a.path < b.path ? -1 : a.path > b.path ? 1 : 0,
  ),
});

/** The package with skill.toml laid otherwise. */
const bent = (change: Partial<RawEntry>): RawZip => ({
  entries: ENTRIES.map((entry, index) => (index === AT_SKILL ? { ...entry, ...change } : entry)),
});

/** Both headers of skill.toml with the same lies. */
const lying = (lies: RawEntry['local'] & object): RawZip => bent({ local: lies, line: lies });

const BOMB = Buffer.alloc(32 * 1024 * 1024);
const PACKED_BOMB = deflateRawSync(BOMB);
const ZIP64_EXTRA = Buffer.from('0100100000000000010000000000000001000000', 'hex');

const HURTFUL: readonly (readonly [string, RawZip, RegExp])[] = [
  [
    'a path that climbs out',
    plus({ path: '../../etc/cron.d/x' }),
    /"\.\.\/\.\.\/etc\/cron\.d\/x" .* not plain/,
  ],
  ['a path that climbs in the middle', plus({ path: 'zz/../../x' }), /not plain/],
  ['an absolute path', plus({ path: '/etc/passwd' }), /"\/etc\/passwd" .* not plain/],
  ['a path with a drive', plus({ path: 'C:/x' }), /not plain/],
  ['a backslash', plus({ path: 'zz\\..\\x' }), /not plain/],
  ['a folder as an entry', plus({ path: 'zz/', contents: Buffer.alloc(0) }), /not plain/],
  ['an empty path', plus({ path: '' }), /not plain/],
  ['NUL in a path', plus({ path: 'zz\0.txt' }), /"zz\\\\u\{0\}\.txt" .* not plain/],
  ['a path beyond ASCII', plus({ path: 'zzé' }), /not plain/],
  [
    'a path beyond ASCII with the UTF-8 flag',
    plus({ path: 'zzé', local: { flags: 0x800 } }),
    /flags is 2048/,
  ],
  ['a Windows device', plus({ path: 'zz/nul.txt' }), /Windows device/],
  ['a path that is too long', plus({ path: 'z'.repeat(129) }), /129 characters/],
  ['a path that is too deep', plus({ path: `${'z/'.repeat(8)}z` }), /9 parts/],
  ['a link by its mode', plus({ line: { made: 0x0314, attributes: 0xa1ff_0000 } }), /maker is 788/],
  [
    'a link by its mode alone',
    plus({ line: { attributes: 0xa1ff_0000 } }),
    /external attributes is 2717843456/,
  ],
  ['a device by its mode', plus({ line: { made: 0x0314, attributes: 0x61b6_0000 } }), /maker is 788/],
  ['a folder by its attributes', plus({ line: { attributes: 0x10 } }), /external attributes is 16/],
  [
    'an entry twice',
    plus({ path: 'text.wasm', contents: ENTRIES.at(-1)?.contents ?? NUL }),
    /is there twice/,
  ],
  ['an entry twice in the directory', { ...plus({ path: 'text.wasm', isGhost: true }) }, /no entry at byte/],
  [
    'two paths that differ in case',
    plus({ path: 'Text.wasm', contents: moduleBy('x', '1') }),
    /"Text\.wasm" and "text\.wasm" differ/,
  ],
  ['a file that is a folder too', plus({ path: 'text.wasm/x' }), /"text\.wasm" is a file and a folder/],
  ['bytes behind the end', { entries: ENTRIES, trailing: NUL }, /end record at byte \d+: its signature/],
  [
    'a package behind the package',
    { entries: ENTRIES, trailing: Buffer.from(SIGNED) },
    /its directory ends at byte \d+, expected the end record there/,
  ],
  ['bytes before the beginning', { entries: ENTRIES, leading: NUL }, /entry at byte 0: its signature/],
  ['bytes between entries', bent({ before: NUL }), /entry at byte \d+: its signature/],
  ['bytes before the directory', { entries: ENTRIES, beforeDirectory: NUL }, /its entries end at byte/],
  ['bytes before the end record', { entries: ENTRIES, beforeEnd: NUL }, /its directory ends at byte/],
  ['a comment', { entries: ENTRIES, comment: Buffer.from('hi') }, /end record at byte \d+: its signature/],
  [
    'a comment that ends like an archive',
    { entries: ENTRIES, comment: Buffer.from(rawZip({ entries: [] })) },
    /its directory ends at byte \d+, expected the end record there|its entries end at/,
  ],
  ['a comment of an entry', bent({ lineComment: Buffer.from('hi') }), /comment length is 2/],
  ['an extra field', bent({ extra: Buffer.alloc(4) }), /extra length is 4/],
  ['an extra field in the directory', bent({ lineExtra: Buffer.alloc(4) }), /extra length is 4/],
  [
    'a data descriptor',
    bent({ local: { flags: 8, crc: 0, stored: 0, size: 0 }, after: Buffer.alloc(12) }),
    /flags is 8/,
  ],
  [
    'zip64 sizes',
    { ...bent({ extra: ZIP64_EXTRA, local: { version: 45, stored: 0xffff_ffff, size: 0xffff_ffff } }) },
    /version is 45/,
  ],
  ['a zip64 count', { entries: ENTRIES, end: { count: 0xffff, here: 0xffff } }, /65535 entries/],
  ['encryption', lying({ flags: 1 }), /flags is 1/],
  ['strong encryption in the directory', bent({ line: { flags: 0x2041 } }), /flags is 8257/],
  [
    'a bomb',
    plus({
      contents: PACKED_BOMB,
      local: { method: 8, size: BOMB.length },
      line: { method: 8, size: BOMB.length },
    }),
    /method is 8, expected 0 \(stored/,
  ],
  ['another method', lying({ method: 93 }), /method is 93/],
  ['a time', lying({ time: 1 }), /time is 1/],
  ['a date', lying({ date: 0x5a21 }), /date is 23073/],
  ['a version', lying({ version: 20 }), /version is 20/],
  ['a size that is too small', lying({ size: 3, stored: 3 }), /"skill\.toml" at byte \d+: its CRC-32 is/],
  [
    'a size that is too large',
    lying({ size: 1_000_000, stored: 1_000_000 }),
    /size is 1000000, expected at most/,
  ],
  [
    'the largest size',
    lying({ size: 0xffff_ffff, stored: 0xffff_ffff }),
    /size is 4294967295, expected at most/,
  ],
  ['a stored size that is another', lying({ stored: 5 }), /stored size is 5/],
  ['a CRC that lies', lying({ crc: 0x1234_5678 }), /CRC-32 is 305419896/],
  [
    'another CRC in the directory',
    bent({ line: { crc: 1 } }),
    /"skill\.toml" in the directory, .* CRC-32 is 1/,
  ],
  ['another size in the directory', bent({ line: { size: 1 } }), /in the directory, .* size is 1/],
  [
    'another path in the directory',
    bent({ linePath: 'skill.tomm' }),
    /path is "skill\.tomm", expected "skill\.toml"/,
  ],
  ['another place in the directory', bent({ line: { offset: 0 } }), /offset is 0/],
  ['another disk', bent({ line: { disk: 1 } }), /disk is 1/],
  [
    'a million entries',
    { entries: ENTRIES, end: { count: 0xfff0, here: 0xfff0 } },
    /65520 entries, expected at most 512/,
  ],
  [
    '513 entries',
    { entries: Array.from({ length: 513 }, (_, index) => ({ path: `f${index}`, contents: NUL })) },
    /513 entries/,
  ],
  [
    'more entries than there are',
    { entries: ENTRIES, end: { count: ENTRIES.length + 1 } },
    /no entry at byte/,
  ],
  [
    'fewer entries than there are',
    { entries: ENTRIES, end: { count: ENTRIES.length - 1 } },
    /its entries end at/,
  ],
  ['two counts', { entries: ENTRIES, end: { here: 1 } }, /entries on this disk is 1/],
  [
    'a directory elsewhere',
    { entries: ENTRIES, end: { offset: 0xffff_fff0 } },
    /directory offset is 4294967280/,
  ],
  ['a directory of another size', { entries: ENTRIES, end: { size: 1 } }, /directory size is 1/],
  ['several disks', { entries: ENTRIES, end: { disk: 1 } }, /disk is 1/],
  ['an entry that claims its neighbour', claiming(), /"skill\.toml" at byte \d+: its CRC-32 is/],
  ['two entries over the same bytes', plus({ isGhost: true, line: { offset: 0 } }), /no entry at byte/],
  ['entries out of order', { entries: [...ENTRIES].reverse() }, /is after "[^"]+", expected before/],
  [
    'text as a module',
    plus({ path: 'zz.wasm', contents: Buffer.from('(module)') }),
    /is not a binary WebAssembly module/,
  ],
  [
    'text as a module in capitals',
    plus({ path: 'zz.WASM', contents: Buffer.from('(module)') }),
    /is not a binary WebAssembly module/,
  ],
  [
    'a module in its text form',
    plus({ path: 'zz.wat', contents: Buffer.from('(module)') }),
    /in its text form/,
  ],
];

/** The local header of skill.toml claims the entry that follows as its own contents, and both are in the directory. */
function claiming(): RawZip {
  const next = ENTRIES[AT_SKILL + 1];
  const size =
    (ENTRIES[AT_SKILL]?.contents.length ?? 0) + 30 + (next?.path.length ?? 0) + (next?.contents.length ?? 0);
  return bent({ local: { size, stored: size } });
}

describe('a package', () => {
  it('is opened when it is unharmed, though another writer made it', () => {
    const copy = rawZip({ entries: ENTRIES });
    expect(copy).toEqual(SIGNED);
    expect(openPackage(copy)).toMatchObject({
      manifest: { id: 'acme.text' },
      signer: { keyId: expect.any(String) },
    });
  });

  it.each(HURTFUL)('is refused with %s', (_, zip, why) => {
    expect(() => openPackage(rawZip(zip))).toThrow(
      expect.objectContaining({
        name: 'CodedError',
        code: 'skill/invalid-package',
        message: expect.stringMatching(why),
      }),
    );
  });

  it('is refused at every length that it was cut to', () => {
    const taken: number[] = [];
    for (let length = 0; length < SIGNED.length; length += 1) {
      if (isOpened(SIGNED.subarray(0, length)) || isOpened(SIGNED.subarray(SIGNED.length - length)))
        taken.push(length);
    }
    expect(taken).toEqual([]);
    expect(isOpened(SIGNED)).toBe(true);
  });

  it('is refused unread when it is too large', () => {
    const huge = new Uint8Array(64 * 1024 * 1024 + 1);
    expect(() => openPackage(huge)).toThrow(
      'Cannot read package: it has 67108865 bytes, expected at most 67108864',
    );
  });

  it.each([
    ['a gzip file', Buffer.from('1f8b0800000000000003', 'hex')],
    ['nothing', Buffer.alloc(0)],
    ['an empty archive', Buffer.from(rawZip({ entries: [] }))],
  ])('is not %s', (_, bytes) => {
    expect(() => openPackage(bytes)).toThrow(expect.objectContaining({ code: 'skill/invalid-package' }));
  });
});

describe('a package without', () => {
  const without = (path: string) => {
    const entries = new Map(readArchive(unsignedSample()));
    entries.delete(path);
    return rawZip({ entries: rawEntries(entries) });
  };

  it.each(['skill.toml', 'SKILL.md', 'text.wasm', 'sbom.cdx.json', 'provenance.json'])(
    '%s is refused',
    (path) => {
      expect(() => openPackage(without(path))).toThrow(
        expect.objectContaining({ code: 'skill/invalid-package', message: expect.stringContaining(path) }),
      );
    },
  );

  it('its test cases is opened', () => {
    expect(openPackage(without('tests/words.json')).signer).toBeNull();
  });
});

function isOpened(bytes: Uint8Array): boolean {
  try {
    openPackage(bytes);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ name: 'CodedError' });
    return false;
  }
}
