import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { sentenceOf } from '../../src/core/result.ts';
import { type AddressRange, parseRange, plantRanges, ringAround } from '../../src/egress/address.ts';
import { addressOf } from './sample.ts';

function rangeOf(text: string): AddressRange {
  const [address = '', bits = ''] = text.split('/');
  const range = parseRange(address, bits);
  if (!range.ok) throw new Error(sentenceOf(range.problem));
  return range.value;
}

/** The texts of all ranges around an address, the narrowest first. */
function around(texts: readonly string[], address: string): string[] {
  const tree = plantRanges(texts.map((text) => [rangeOf(text), text] as const));
  const found: string[] = [];
  for (let ring = ringAround(tree, addressOf(address)); ring !== null; ring = ring.outer)
    found.push(ring.item);
  return found;
}

describe('ringAround()', () => {
  const texts = [
    '10.0.0.0/8',
    '10.1.0.0/16',
    '10.1.2.0/24',
    '10.1.2.3/32',
    '10.2.0.0/16',
    '::a00:0/104',
    '::/0',
  ];

  it.each<[string, string[]]>([
    ['10.1.2.3', ['10.1.2.3/32', '10.1.2.0/24', '10.1.0.0/16', '10.0.0.0/8']],
    ['10.1.2.4', ['10.1.2.0/24', '10.1.0.0/16', '10.0.0.0/8']],
    ['10.1.255.255', ['10.1.0.0/16', '10.0.0.0/8']],
    ['10.2.0.0', ['10.2.0.0/16', '10.0.0.0/8']],
    ['10.255.255.255', ['10.0.0.0/8']],
    ['9.255.255.255', []],
    ['11.0.0.0', []],
    ['::a01:203', ['::a00:0/104', '::/0']],
    ['ffff::', ['::/0']],
  ])('of %s goes through %j', (address, expected) => {
    expect(around(texts, address)).toEqual(expected);
    expect(around(texts.toReversed(), address)).toEqual(expected);
  });

  it('finds nothing where there is no range', () => {
    expect(around([], '10.1.2.3')).toEqual([]);
    expect(around(['0.0.0.0/0'], '::1')).toEqual([]);
    expect(around(['0.0.0.0/0'], '255.255.255.255')).toEqual(['0.0.0.0/0']);
  });

  it('finds what a look at every range finds', () => {
    // Few bits that differ, so that ranges lie inside each other and next to each other.
    const bits = fc.nat({ max: 6 }).map((count) => 32 - count);
    const range = fc.tuple(fc.nat({ max: 63 }), bits).map(([low, length]) => {
      const size = 2 ** (32 - length);
      return `0.0.0.${low - (low % size)}/${length}`;
    });
    fc.assert(
      fc.property(fc.uniqueArray(range, { maxLength: 24 }), fc.nat({ max: 70 }), (ranges, low) => {
        const address = addressOf(`0.0.0.${low}`);
        const expected = ranges
          .map((text) => ({ text, ...rangeOf(text) }))
          .filter(({ first, last }) => first <= address.value && address.value <= last)
          .toSorted((a, b) => b.bits - a.bits)
          .map(({ text }) => text);
        expect(around(ranges, `0.0.0.${low}`)).toEqual(expected);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });
});
