import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import { LOOK_ALIKES } from '../../src/core/look-alikes.table.ts';
import { sentenceOf } from '../../src/core/result.ts';
import { isBeneath, parseKey, parsePrefix, type StorageKey } from '../../src/core/storage-key.ts';
import { prefixOf } from '../storage/sample.ts';

/** What a key is, said once more and in another way: code point by code point and segment by segment. */
function isKeyByOracle(raw: string): boolean {
  const bytes = new TextEncoder().encode(raw);
  if (bytes.length < 1 || bytes.length > 512) return false;
  if (new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) !== raw) return false;
  const points = Array.from(raw, (char) => char.codePointAt(0) ?? 0);
  if (points.some((point) => point < 32 || (point >= 127 && point < 160) || point === 92)) return false;
  if (points.some((point) => NEVER.has(point) || isUnassigned(point))) return false;
  const separators = (text: string) => [...text].filter((char) => './\\'.includes(char)).length;
  if (separators(raw.normalize('NFKC')) !== separators(raw)) return false;
  if (LOOK_ALIKES.some(({ char }) => raw.includes(char))) return false;
  const isNormal = Buffer.from(raw.normalize('NFC')).equals(bytes);
  return isNormal && raw.split('/').every((segment) => !['', '.', '..'].includes(segment));
}

/** Line and paragraph separator, and the marks that turn the direction of a line. */
const NEVER = new Set([
  0x2028, 0x2029, 0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068,
  0x2069,
]);

function isUnassigned(point: number): boolean {
  return /^\p{Cn}$/u.test(String.fromCodePoint(point));
}

const REFUSED: readonly (readonly [fault: string, ...raw: string[]])[] = [
  ['empty', ''],
  ['too-long', 'a'.repeat(513), 'é'.repeat(257), `${'a/'.repeat(256)}a`],
  ['not-unicode', 'a\ud800b', '\udc00', 'a\u{10ffff}', '\ufffe'],
  ['control', 'a\0b', 'a\nb', '\u007f', '\u0085', 'a\u2028', 'a\u202eb', '\u2066a', '\u200f'],
  ['backslash', 'a\\b', '\\', 'a/..\\b'],
  ['not-normal', 'e\u0301', 'a/\u212b', '\u1100\u1161'],
  [
    'look-alike',
    '\u2024\u2024/a',
    'a\uff0e',
    '\ufe52',
    'a\u2026',
    'a\uff0fb',
    '\u2044',
    'a\uff3cb',
    '\u3002',
    '\u2488',
    '\u2100',
  ],
  ['outer-slash', '/', '/a', 'a/', '//', '/../etc/passwd'],
  ['empty-segment', 'a//b', 'a///b'],
  ['dot-segment', '.', '..', './a', '../a', 'a/./b', 'a/../b', 'a/.', 'a/..'],
];

const ACCEPTED = [
  'a',
  'notes/2024/today.md',
  '...',
  '.hidden',
  'a..b/..c/d..',
  ' ',
  'a b/c',
  '%2e%2e%2f',
  'é',
  'ملف/٠',
  '日本/メモ',
  '👩‍👩‍👧/x',
  'constructor/__proto__',
  'a'.repeat(512),
  'é'.repeat(256),
];

const part = fc.constantFrom(
  ...['a', 'b', '/', '.', '..', '//', '\\', '\0', '\n', ' ', 'é', 'e\u0301', '\ud83d', '\u{1f600}', '\u2024'],
  ...[
    '\uff0e',
    '\uff0f',
    '\u2215',
    '\u212b',
    '\ue000',
    '\u202e',
    '\u2028',
    '\u0378',
    '\uffff',
    '\u{10ffff}',
    'ſ',
  ],
);
const anyText = fc.oneof(
  fc.array(part, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ unit: CHARACTER, maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.array(fc.string({ unit: 'grapheme', maxLength: 30 }), { maxLength: 40 }).map((parts) => parts.join('/')),
);

describe('parseKey()', () => {
  it.each(REFUSED.flatMap(([fault, ...raws]) => raws.map((raw) => [fault, raw] as const)))(
    'refuses as %s: %j',
    (fault, raw) => {
      expect(parseKey(raw)).toMatchObject({ ok: false, problem: { fault } });
    },
  );

  it.each(ACCEPTED)('takes %j as it is', (raw) => {
    expect(parseKey(raw)).toEqual({ ok: true, value: raw });
  });

  it('agrees with a second reading of the rules on any text', () => {
    fc.assert(
      fc.property(anyText, (raw) => {
        const parsed = parseKey(raw);
        expect(parsed.ok).toBe(isKeyByOracle(raw));
        if (parsed.ok) expect(parsed.value).toBe(raw);
      }),
      { numRuns: volume(5_000, 30) },
    );
  });

  it('agrees with it on every character there is, alone and within a key', () => {
    const wrong: string[] = [];
    for (let point = 0; point <= 0x10ffff; point++) {
      // Unassigned and private characters are all alike; one in 64 of the far planes is enough.
      if (point > 0x32000 && point % 64 !== 0 && point < 0x10fff0) continue;
      const char = String.fromCodePoint(point);
      for (const raw of [char, `a${char}b`]) if (parseKey(raw).ok !== isKeyByOracle(raw)) wrong.push(raw);
    }
    expect(wrong).toEqual([]);
  });

  it('says what is wrong without printing what could harm a terminal', () => {
    const parsed = parseKey(`a\u001b[2J\u202e${'x'.repeat(1_000)}`);
    expect(parsed.ok ? '' : sentenceOf(parsed.problem)).toMatch(/^[^\p{Cc}\p{Cf}]{1,300}$/u);
  });
});

describe('the table of look-alikes', () => {
  it.each(LOOK_ALIKES)('lists $name for a reason: it is no letter, and no folding finds it', ({ char }) => {
    expect([...char]).toHaveLength(1);
    expect(char).not.toMatch(/[\p{L}\p{N}]/u);
    expect(char.normalize('NFKC')).not.toMatch(/[./\\]/);
  });
});

describe('parsePrefix()', () => {
  it.each([
    ['notes/', 'notes'],
    ['notes', 'notes'],
    ['notes/2024/', 'notes/2024'],
    ['/', ''],
  ])('reads %j as the place %j', (raw, prefix) => {
    expect(parsePrefix(raw)).toEqual({ ok: true, value: prefix });
  });

  it.each(['', '//', 'a//', '/a', '../', 'a/../', '.', '\u2024/'])('refuses %j', (raw) => {
    expect(parsePrefix(raw).ok).toBe(false);
  });
});

describe('isBeneath()', () => {
  const segment = fc.constantFrom('a', 'b', 'ab', 'a-', 'a.b', 'é');
  const place = fc.array(segment, { minLength: 1, maxLength: 4 });

  it('holds exactly when the segments of the prefix begin those of the key', () => {
    fc.assert(
      fc.property(place, place, fc.boolean(), (key, prefix, slash) => {
        const begins = prefix.every((name, i) => key[i] === name);
        const granted = prefixOf(`${prefix.join('/')}${slash ? '/' : ''}`);
        expect(isBeneath(key.join('/') as StorageKey, granted)).toBe(begins);
        expect(isBeneath(key.join('/') as StorageKey, prefixOf('/'))).toBe(true);
      }),
      { numRuns: volume(1_000, 30) },
    );
  });
});
