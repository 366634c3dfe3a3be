import { lookup } from 'node:dns/promises';
import { isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { sentenceOf } from '../../src/core/result.ts';
import { formatAddress, parseAddress, parseRange } from '../../src/egress/address.ts';

/** The canonical spelling of what a text means, or null. */
function meaning(text: string): string | null {
  const address = parseAddress(text);
  return address === null ? null : formatAddress(address);
}

/** What the URL parser of Node, which follows the standard of browsers, makes of it. */
function meaningInUrl(text: string): string | null {
  const url = `http://${text}/`;
  return URL.canParse(url) ? new URL(url).hostname : null;
}

describe('parseAddress()', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['017700000001', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['0X7F.1', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['127.0.1', '127.0.0.1'],
    ['0177.0.0.01', '127.0.0.1'],
    ['0177.0x0.0.1', '127.0.0.1'],
    ['00000000000000000000000177.1', '127.0.0.1'],
    ['0x0000000000000000007f.1', '127.0.0.1'],
    ['010.0.0.1', '8.0.0.1'],
    ['1.2.65535', '1.2.255.255'],
    ['1.2.3.', '1.2.0.3'],
    ['0', '0.0.0.0'],
    ['0x', '0.0.0.0'],
    ['4294967295', '255.255.255.255'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['0000:0000:0000:0000:0000:0000:0000:0001', '::1'],
    ['2001:DB8::A', '2001:db8::a'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:0:2:2:0:0:3', '1::2:2:0:0:3'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::', '::'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::FFFF:7f00:1', '127.0.0.1'],
    ['[0:0:0:0:0:ffff:169.254.169.254]', '169.254.169.254'],
    ['::127.0.0.1', '::7f00:1'],
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
    ['2002:7f00:1::', '2002:7f00:1::'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
  ])('reads %s as %s', (text, expected) => {
    expect(meaning(text)).toBe(expected);
  });

  it.each([
    ['', '.', '1.2.3.4..', '1..2', '.1', '1.2.3.4.5', 'a.b.c.d', 'example.com', '0x7g'],
    [
      '256.1.1.1',
      '1.256.1.1',
      '1.2.3.256',
      '1.2.65536',
      '1.16777216',
      '4294967296',
      '0x100000000',
      '040000000000',
    ],
    [
      '08.1.1.1',
      '1.2.3.08',
      '09',
      '-1',
      '+1.2.3.4',
      '1e1',
      '1_0.1',
      '0b1.1',
      '1.2.3.4 ',
      ' 1.2.3.4',
      '1.2.3.4\n',
      '١.2.3.4',
    ],
    [
      '::1%lo',
      'fe80::1%eth0',
      'fe80::1%25eth0',
      '[::1',
      '::1]',
      '[[::1]]',
      '[127.0.0.1]',
      '[]',
      '::1.',
      '[::1].',
    ],
    [
      ':',
      ':::',
      '1:::2',
      '1::2::3',
      ':1::',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '::1:2:3:4:5:6:7:8',
      '00001::',
      '::12345',
      '::g',
    ],
    [
      '::ffff:127.1',
      '::ffff:0x7f.0.0.1',
      '::1.2.3.04',
      '::1.2.3.256',
      '1.2.3.4::',
      '::1.2.3.4:1',
      '::1:2:3:4:5:6:1.2.3.4:7',
    ],
  ])('takes none of %j…', (...texts) => {
    expect(texts.map(meaning)).toEqual(texts.map(() => null));
  });

  it('takes what the system takes for the machine itself', async () => {
    // The control: these spellings really are loopback to a program that asks the system, without any query.
    for (const text of ['127.1', '0x7f.1', '0177.1', '2130706433', '0x7f000001', '::ffff:127.0.0.1']) {
      const { address } = await lookup(text, { family: text.includes(':') ? 6 : 4 });
      expect(meaning(text)).toBe(meaning(address));
    }
  });

  it('agrees with the URL parser on every text of numbers and dots', () => {
    const part = fc.oneof(
      fc.nat(300).map(String),
      fc.nat(2 ** 32).map(String),
      fc.nat(2 ** 17).map((value) => `0x${value.toString(16)}`),
      fc.nat(2 ** 17).map((value) => `0${value.toString(8)}`),
      fc.constantFrom('0x', '00', '08', '0x0000000000001', '256', '65536', '4294967296', 'ff', '0xg', ''),
    );
    const text = fc.tuple(fc.array(part, { minLength: 1, maxLength: 5 }), fc.boolean());
    fc.assert(
      fc.property(text, ([parts, dot]) => {
        const spelling = parts.join('.') + (dot ? '.' : '');
        const expected = meaningInUrl(spelling);
        expect(meaning(spelling)).toBe(expected !== null && isIPv4(expected) ? expected : null);
      }),
      { numRuns: volume(3_000, 30) },
    );
  });

  it('agrees with the URL parser and the system on every text of groups and colons', () => {
    const group = fc.oneof(
      fc.nat(0xffff).map((value) => value.toString(16)),
      fc.constantFrom('0', '0', '0', '', '', 'ffff', 'FFFF', '00ab', '12345', '1.2.3.4', '1.2.3.04', 'g'),
    );
    fc.assert(
      fc.property(fc.array(group, { minLength: 1, maxLength: 9 }), (groups) => {
        const spelling = groups.join(':');
        fc.pre(spelling.includes(':'));
        const address = parseAddress(spelling);
        expect(address !== null).toBe(isIPv6(spelling));
        const expected = meaningInUrl(`[${spelling}]`);
        const again = address?.family === 4 ? `::ffff:${formatAddress(address)}` : meaning(spelling);
        expect(again === null ? null : meaningInUrl(`[${again}]`)).toBe(expected);
      }),
      { numRuns: volume(3_000, 30) },
    );
  });

  it('reads back every address that it writes', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 128n - 1n), fc.boolean(), (bits, zeros) => {
        const value = zeros ? bits & 0xffff_0000_0000_ffff_0000_0000_0000_ffffn : bits;
        const text = formatAddress({ family: 6, value });
        expect(parseAddress(text)).toEqual({ family: 6, value });
        expect(`[${text}]`).toBe(meaningInUrl(`[${text}]`));
        const four = { family: 4 as const, value: value & 0xffff_ffffn };
        expect(parseAddress(formatAddress(four))).toEqual(four);
      }),
    );
  });
});

describe('parseRange()', () => {
  it.each([
    ['10.0.0.0', '8', '10.255.255.255'],
    ['10.1.2.3', '32', '10.1.2.3'],
    ['0.0.0.0', '0', '255.255.255.255'],
    ['::', '0', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2001:db8::', '32', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['::ffff:10.0.0.0', '104', '10.255.255.255'],
  ])('reads %s/%s up to %s', (address, bits, last) => {
    const range = parseRange(address, bits);
    expect(range.ok && formatAddress({ family: range.value.family, value: range.value.last })).toBe(last);
  });

  it.each([
    ['10.0.0.0', ''],
    ['10.0.0.0', '33'],
    ['10.0.0.0', '-1'],
    ['10.0.0.0', '08'],
    ['10.0.0.0', '8 '],
    ['10.0.0.0', '255.0.0.0'],
    ['10.0.0.1', '8'],
    ['::', '129'],
    ['::ffff:10.0.0.0', '95'],
    ['example.com', '8'],
    ['', '8'],
  ])('refuses %s/%s', (address, bits) => {
    const range = parseRange(address, bits);
    expect(range.ok ? range.value : sentenceOf(range.problem)).toMatch(
      /^Cannot use range ".*": .*, expected /,
    );
  });
});
