import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { sentenceOf } from '../../src/core/result.ts';
import {
  formatAuthority,
  formatHost,
  formatSite,
  parseAuthority,
  parseHost,
  parseHttpUrl,
  type Scheme,
} from '../../src/egress/authority.ts';
import { hostOf } from './sample.ts';

const long = (count: number) => Array.from({ length: count }, () => 'a'.repeat(61)).join('.');

describe('parseHost()', () => {
  it.each([
    ['example.com', 'example.com'],
    ['Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['localhost', 'localhost'],
    ['my_service', 'my_service'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['r3---sn-x.example.com', 'r3---sn-x.example.com'],
    ['1and1.com', '1and1.com'],
    ['0x7f.example', '0x7f.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['ex。ample．com', 'ex.ample.com'],
    [`${long(4)}.aaaaa`, `${long(4)}.aaaaa`],
  ])('reads the name %s as %s', (raw, name) => {
    expect(hostOf(raw)).toEqual({ kind: 'name', name });
  });

  it.each([
    ['127.1', '127.0.0.1'],
    ['0x7F000001', '127.0.0.1'],
    ['2852039166', '169.254.169.254'],
    ['127.0.0.1.', '127.0.0.1'],
    ['①②⑦.0.0.1', '127.0.0.1'],
    ['１２７．１', '127.0.0.1'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['[::ffff:7f00:1]', '127.0.0.1'],
  ])('takes %s for the address %s', (raw, address) => {
    const host = hostOf(raw);
    expect(host.kind).toBe('address');
    expect(formatHost(host)).toBe(address);
  });

  it.each([
    ['', 'it is empty'],
    ['.', 'an empty label'],
    ['a..b', 'an empty label'],
    ['.a', 'an empty label'],
    ['a.b..', 'an empty label'],
    ['a b', 'white space'],
    ['a\tb', 'white space'],
    ['a\u00a0b', 'white space'],
    ['a\r\nb', 'a line break'],
    ['a\0b', 'a NUL'],
    ['a\x1bb', 'a control character'],
    ['a\x85b', 'a control character'],
    ['user@example.com', 'a user name'],
    ['ex%61mple.com', 'percent-encoding'],
    ['example%2ecom', 'percent-encoding'],
    ['example.com%00.evil.io', 'percent-encoding'],
    ['evil.com\\.example.com', 'a backslash'],
    ['evil.com#.example.com', 'a fragment'],
    ['evil.com?.example.com', 'a query'],
    ['evil.com/.example.com', 'a path'],
    ['exam\u00adple.com', 'an invisible character'],
    ['exam\u200bple.com', 'an invisible character'],
    ['\u202eelpmaxe.com', 'an invisible character'],
    ['evil.com:443.example.com', 'not a valid IPv6 address'],
    ['[::1', 'not a valid IPv6 address'],
    ['[127.0.0.1]', 'not a valid IPv6 address'],
    ['[example.com]', 'not a valid IPv6 address'],
    ['[v1.a:b]', 'not a valid IPv6 address'],
    ['fe80::1%eth0', 'percent-encoding'],
    ['1.2.3.4.5', 'not a valid address'],
    ['256.1.1.1', 'not a valid address'],
    ['1.2.3.08', 'not a valid address'],
    ['example.0x7f', 'not a valid address'],
    ['example.1', 'not a valid address'],
    ['-a.com', 'the label "-a"'],
    ['a-.com', 'the label "a-"'],
    ['*.example.com', 'the label "*"'],
    ['a!b.com', 'the label "a!b"'],
    ['xn--a.com', 'no ASCII form'],
    ['℀.com', 'no ASCII form'],
    ['a\u2024b.com', 'no ASCII form'],
    ['\ud800.com', 'no ASCII form'],
    [`${'a'.repeat(64)}.com`, 'a label has 64 characters'],
    [`${long(4)}.aaaaaa`, 'it has 254 characters'],
    ['a'.repeat(2_000), 'it has 2000 characters'],
  ])('refuses %j because of %s', (raw, what) => {
    const host = parseHost(raw);
    expect(host.ok ? host.value : sentenceOf(host.problem)).toContain(what);
    expect(host.ok ? '' : sentenceOf(host.problem)).toMatch(/^Cannot use host ".*": .*, expected /);
  });

  it('shows no hostile text as it is', () => {
    const host = parseHost(`\x1b[2J\u202e${'x'.repeat(5_000)}`);
    const why = host.ok ? '' : sentenceOf(host.problem);
    expect(why.length).toBeLessThan(300);
    expect(why).toMatch(/^[ -~…]+$/);
  });
});

describe('parseAuthority()', () => {
  it.each([
    ['example.com', 'example.com', null],
    ['Example.com.:443', 'example.com', 443],
    ['example.com:1', 'example.com', 1],
    ['example.com:65535', 'example.com', 65_535],
    ['0x7f.1:80', '127.0.0.1', 80],
    ['[2001:DB8::1]:8080', '2001:db8::1', 8_080],
    ['[::1]', '::1', null],
  ])('reads %s', (raw, host, port) => {
    const parsed = parseAuthority(raw);
    expect(parsed.ok && { host: formatHost(parsed.value.host), port: parsed.value.port }).toEqual({
      host,
      port,
    });
  });

  it.each([
    ...[
      'example.com:',
      'example.com:0',
      'example.com:65536',
      'example.com:080',
      'example.com:+80',
      'example.com:8a',
    ],
    ...[
      'example.com: 80',
      'example.com:80 ',
      'example.com:-1',
      'example.com:1e3',
      'example.com:٨٠',
      'example.com:99999999',
    ],
    ...[
      '::1',
      '::1:80',
      '[::1]80',
      '[::1]:',
      '[::1]]:80',
      'a[::1]',
      ':80',
      '',
      'a:1:2',
      'evil.com:443.example.com',
    ],
    ...[
      'user:secret@example.com:80',
      'user@example.com',
      'example.com:80/x',
      'example.com:80#',
      'example.com:80\r\nX: y',
    ],
  ])('refuses %j', (raw) => {
    const parsed = parseAuthority(raw);
    expect(parsed.ok ? parsed.value : sentenceOf(parsed.problem)).toMatch(
      /^Cannot use (host|address|port) "/,
    );
  });

  it('reads back what it writes', () => {
    for (const text of ['example.com', '10.0.0.1', '::1']) {
      const parsed = parseAuthority(formatAuthority(hostOf(text), 80));
      expect(parsed.ok && parsed.value).toEqual({ host: hostOf(text), port: 80 });
    }
  });

  it('finds in a URL the host that the URL parser finds, or none', () => {
    const text = fc.string({ unit: fc.constantFrom(...'aZ9.-_:@[]%/\\?#0xé。 *'), maxLength: 14 });
    fc.assert(
      fc.property(text, (raw) => {
        const parsed = parseAuthority(raw);
        fc.pre(parsed.ok);
        const host = formatHost(parsed.value.host);
        const expected = new URL(`http://${raw}/`).hostname.replace(/\.$/, '').replace(/^\[|\]$/g, '');
        expect([host, formatHost(hostOf(host))]).toEqual([expected, host]);
      }),
      { numRuns: volume(3_000, 30) },
    );
  });
});

describe('parseHttpUrl()', () => {
  it.each([
    ['http://example.com', 'http', 'example.com', 80, '/'],
    ['HTTPS://Example.com/a?b=c', 'https', 'example.com', 443, '/a?b=c'],
    ['https://example.com:8443?x', 'https', 'example.com', 8_443, '/?x'],
    ['http://[::1]:81/x//y', 'http', '::1', 81, '/x//y'],
  ])('reads %s', (raw, scheme, host, port, path) => {
    const url = parseHttpUrl(raw);
    expect(url.ok && { ...url.value, host: formatHost(url.value.host) }).toEqual({
      scheme,
      host,
      port,
      path,
    });
  });

  it.each([
    ...[
      'example.com',
      '/x',
      '//example.com/',
      'ftp://example.com/',
      'http:example.com',
      'http:/example.com',
      'http:///x',
    ],
    ...[
      'http://good.example\\@evil.example/',
      'http://a@good.example/',
      'http://good.example#@evil.example/',
    ],
    ...[
      'http://example.com/a b',
      'http://example.com/\\..',
      'http://example.com/#x',
      'http://example.com/é',
      ' http://example.com/',
    ],
    ...[
      'http://example.com:99999/',
      'http://exa\nmple.com/',
      'http://example.com/\r\nX: y',
      'javascript://example.com/',
    ],
  ])('refuses %j', (raw) => {
    expect(parseHttpUrl(raw).ok).toBe(false);
  });
});

describe('formatSite()', () => {
  it.each([
    ['http', 'a.test', 80, 'a.test'],
    ['http', 'a.test', 443, 'a.test:443'],
    ['https', 'a.test', 443, 'a.test'],
    ['https', 'a.test', 80, 'a.test:80'],
    ['http', '[2001:db8::1]', 80, '[2001:db8::1]'],
    ['http', '[2001:db8::1]', 8080, '[2001:db8::1]:8080'],
    ['https', '192.0.2.1', 443, '192.0.2.1'],
  ] as const)('of %s, %s and %i is %s', (scheme, host, port, expected) => {
    expect(formatSite({ scheme, host: hostOf(host), port })).toBe(expected);
  });

  it('is read back as the same site', () => {
    const hosts = fc.oneof(
      fc.constantFrom('a.test', 'b_c.a.test'),
      fc.ipV4(),
      fc.ipV6().map((text) => `[${text}]`),
    );
    fc.assert(
      fc.property(
        fc.constantFrom<Scheme>('http', 'https'),
        hosts,
        fc.oneof(fc.constantFrom(80, 443), fc.integer({ min: 1, max: 65_535 })),
        (scheme, host, port) => {
          const site = { scheme, host: hostOf(host), port };
          expect(parseHttpUrl(`${scheme}://${formatSite(site)}/`)).toEqual({
            ok: true,
            value: { ...site, path: '/' },
          });
        },
      ),
    );
  });
});
