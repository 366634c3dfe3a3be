import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import { parseRecord } from '../src/index.ts';
import { makeRecords } from './signer.ts';

const [line = ''] = makeRecords(1);

describe('parseRecord()', () => {
  test('reads a canonical line', () => {
    expect(parseRecord(line)).toMatchObject({ ok: true, value: { seq: 1, kind: 'ended', v: 1 } });
  });

  test.each([
    ['a line feed', `${line}\n`, 'not the canonical encoding'],
    ['a space', line.replace(',', ', '), 'not the canonical encoding from byte 33'],
    ['another version', line.replace('"v":1', '"v":2'), 'field "v" is 2, expected 1'],
    ['the number zero', line.replace('"seq":1', '"seq":0'), 'field "seq" is 0'],
    ['a fractional number', line.replace('"seq":1', '"seq":1.5'), 'field "seq" is 1.5'],
    ['a body that is a list', line.replace(/"body":\{[^}]*\}/, '"body":[]'), 'field "body" is []'],
    ['an added field', line.replace('"v":1', '"v":1,"w":1'), 'field "w" is present'],
    ['text that is not JSON', line.slice(1), 'not canonical JSON'],
    [
      'more than 1 MiB',
      line.replace('"note":""', `"note":"${'x'.repeat(1024 * 1024)}"`),
      'more than 1048576',
    ],
    [
      'more than 1 MiB of UTF-8',
      line.replace('"note":""', `"note":"${'€'.repeat(400_000)}"`),
      'more than 1048576',
    ],
  ])('refuses %s', (_, text, why) => {
    expect(parseRecord(text)).toEqual({ ok: false, detail: expect.stringContaining(why) });
  });

  test('gives an answer for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string({ unit: CHARACTER })), (text) => {
        expect(parseRecord(text).ok).toBe(false);
      }),
    );
  });
});
