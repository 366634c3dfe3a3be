import { describe, expect, it } from 'vitest';
import { sentenceOf } from '../../src/core/result.ts';
import { carriedBy, formatAddress, isInside, parseRange, specialRange } from '../../src/egress/address.ts';
import { SPECIAL_RANGES } from '../../src/egress/address-ranges.table.ts';
import { addressOf } from './sample.ts';

function nameOf(text: string): string | null {
  return specialRange(addressOf(text), [])?.name ?? null;
}

describe('specialRange()', () => {
  it.each([
    ['this-network', ['0.0.0.0', '0.255.255.255', '0']],
    [
      'private',
      ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
    ],
    ['shared', ['100.64.0.0', '100.127.255.255']],
    ['loopback', ['127.0.0.0', '127.255.255.255', '127.1', '0x7f000001', '::1', '::ffff:127.0.0.1']],
    ['link-local', ['169.254.0.0', '169.254.255.255', 'fe80::', 'febf:ffff::', 'fe80::1']],
    [
      'metadata',
      ['169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192', '169.254.170.2', '2852039166'],
    ],
    [
      'metadata',
      ['fd00:ec2::254', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fe80::a9fe:a9fe', '::ffff:a9fe:a9fe'],
    ],
    ['protocol', ['192.0.0.0', '192.0.0.255', '2001:1::1', '2001:1ff:ffff::']],
    [
      'documentation',
      ['192.0.2.0', '192.0.2.255', '198.51.100.7', '203.0.113.7', '2001:db8::1', '3fff::1', '3fff:fff::1'],
    ],
    ['relay', ['192.88.99.1']],
    ['benchmarking', ['198.18.0.0', '198.19.255.255', '2001:2::1']],
    ['multicast', ['224.0.0.0', '239.255.255.255', 'ff00::', 'ff02::1', 'ffff::']],
    [
      'reserved',
      [
        '240.0.0.0',
        '255.255.255.254',
        '4000::',
        '5f00::',
        '7fff::',
        '8000::',
        'fbff::',
        'fe00::',
        '1fff::',
        '::1:0:0:1',
      ],
    ],
    ['broadcast', ['255.255.255.255']],
    ['unspecified', ['::']],
    ['unique-local', ['fc00::', 'fdff:ffff::', 'fd12:3456::1']],
    ['site-local', ['fec0::', 'feff:ffff::']],
    ['local-nat64', ['64:ff9b:1:808:8:808:808:808']],
    ['discard', ['100::1']],
  ])('calls %s what is in %j', (name, texts) => {
    expect(texts.map(nameOf)).toEqual(texts.map(() => name));
  });

  it.each([
    ['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
    ['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
    [
      '192.0.1.0',
      '192.0.3.0',
      '192.88.98.255',
      '192.88.100.0',
      '192.167.255.255',
      '192.169.0.0',
      '198.17.255.255',
    ],
    [
      '198.20.0.0',
      '198.51.99.255',
      '198.51.101.0',
      '203.0.112.255',
      '203.0.114.0',
      '223.255.255.255',
      '8.8.8.8',
    ],
    [
      '2000::',
      '2001:200::',
      '2001:db7::',
      '2001:db9::',
      '2003::',
      '2606:4700::1111',
      '3ffe::1',
      '3fff:1000::',
    ],
  ])('lets the neighbours %s… be', (...texts) => {
    expect(texts.map(nameOf)).toEqual(texts.map(() => null));
  });

  it.each([
    ['NAT64', '64:ff9b::7f00:1', 'loopback'],
    ['NAT64', '64:ff9b::169.254.169.254', 'metadata'],
    ['NAT64 to the internet', '64:ff9b::8.8.8.8', null],
    ['NAT64 of the local network', '64:ff9b:1::10.0.0.1', 'private'],
    ['NAT64 of the local network with 48 bits', '64:ff9b:1:7f00:0:100::', 'this-network'],
    ['6to4', '2002:a00:1::', 'private'],
    ['6to4', '2002:a9fe:a9fe::1', 'metadata'],
    ['6to4 to the internet', '2002:808:808::1', null],
    ['Teredo whose client is 127.0.0.1', '2001:0:808:808:0:0:80ff:fffe', 'loopback'],
    ['Teredo whose server is 10.0.0.1', '2001:0:a00:1:0:0:f7f7:f7f7', 'private'],
    ['Teredo on the internet', '2001:0:808:808:0:0:f7f7:f7f7', null],
    ['ISATAP', '2606:4700::5efe:192.168.0.1', 'private'],
    ['ISATAP with the universal bit', '2606:4700::200:5efe:10.0.0.1', 'private'],
    ['ISATAP on the internet', '2606:4700::5efe:8.8.8.8', null],
    ['IPv4-compatible', '::127.0.0.1', 'loopback'],
    ['IPv4-compatible on the internet', '::8.8.8.8', 'compatible'],
    ['IPv4-translated', '::ffff:0:10.0.0.1', 'private'],
    ['IPv4-translated on the internet', '::ffff:0:8.8.8.8', 'reserved'],
  ])('judges %s (%s) by what it carries', (_form, text, name) => {
    expect(nameOf(text)).toBe(name);
  });

  it('knows the addresses of the machine, and what carries them', () => {
    const own = [addressOf('93.184.216.34'), addressOf('2606:4700::7')];
    expect(specialRange(addressOf('93.184.216.34'), own)?.name).toBe('own');
    expect(specialRange(addressOf('::ffff:93.184.216.34'), own)?.name).toBe('own');
    expect(specialRange(addressOf('64:ff9b::93.184.216.34'), own)?.name).toBe('own');
    expect(specialRange(addressOf('2606:4700:0::7'), own)?.name).toBe('own');
    expect(specialRange(addressOf('93.184.216.35'), own)).toBeNull();
    expect(specialRange(addressOf('93.184.216.34'), [])).toBeNull();
  });
});

describe('carriedBy()', () => {
  it.each([
    ['64:ff9b::1.2.3.4', ['1.2.3.4']],
    ['2002:102:304::', ['1.2.3.4']],
    ['2001:0:102:304::fafa:f9f8', ['5.5.6.7', '1.2.3.4']],
    ['64:ff9b:1:102:3:400::', ['0.0.0.0', '1.2.3.4']],
    ['2606::5efe:1.2.3.4', ['1.2.3.4']],
    ['2606::1', []],
    ['1.2.3.4', []],
  ])('finds in %s %j', (text, expected) => {
    expect(carriedBy(addressOf(text)).map(formatAddress)).toEqual(expected);
  });
});

describe('the tables', () => {
  const ranges = SPECIAL_RANGES.map(([range]) => {
    const [address = '', bits = ''] = range.split('/');
    const parsed = parseRange(address, bits);
    if (!parsed.ok) throw new Error(sentenceOf(parsed.problem));
    return { text: range, ...parsed.value };
  });

  it('have no row that a row above it hides', () => {
    const hidden = ranges.filter((range, at) => ranges.slice(0, at).some((above) => isInside(range, above)));
    expect(hidden.map(({ text }) => text)).toEqual([]);
  });

  it('say in every sentence what the address is', () => {
    for (const [, , sentence] of SPECIAL_RANGES) expect(sentence).toMatch(/^(an?|the|no) .*[^.]$/);
  });
});
