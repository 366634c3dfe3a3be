import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sentenceOf } from '../../src/core/result.ts';
import { type AllowList, narrowList, parseAllowList } from '../../src/egress/allowlist.ts';
import { decide, denyHost, denyNow, denySite, namesHttp } from '../../src/egress/decide.ts';
import { addressOf, hostOf, listOf, requestOf } from './sample.ts';

const ASKED = requestOf('GET http://a.test:80/v1');
const PUBLIC = addressOf('93.184.215.14');

/** What speaks against it with this list, on a machine that has an address of its own. */
function deny(entries: readonly string[], address: string | null) {
  const own = { addresses: [PUBLIC], ports: new Set<number>() };
  const judge = { list: () => listOf(...entries), resolve: { own } };
  return denyNow(judge, ASKED, address === null ? null : addressOf(address));
}

describe('denyNow()', () => {
  it.each([
    [['a.test'], null],
    [['a.test'], '1.1.1.1'],
    [['a.test', '127.0.0.1:80'], '127.0.0.1'],
    [['a.test', '93.184.215.14:80'], '93.184.215.14'],
  ])('has nothing against a request with %j that goes to %s', (entries, address) => {
    expect(deny(entries, address)).toBeNull();
  });

  it.each([
    [['b.test'], null, 'no entry of the allow-list has this host'],
    [['a.test', '!http://a.test/v1'], '1.1.1.1', 'the entry "!http://a.test/v1" denies it'],
    [['a.test', '!1.1.1.1'], '1.1.1.1', 'the entry "!1.1.1.1" denies it'],
    [['a.test'], '127.0.0.1', 'it is an address of the machine itself'],
    [['a.test'], '93.184.215.14', 'expected an entry that names it'],
  ])('denies a request with %j that goes to %s', (entries, address, why) => {
    expect(deny(entries, address)?.why).toContain(why);
  });

  it('asks for the list each time', () => {
    let entries = ['a.test'];
    const judge = {
      list: () => listOf(...entries),
      resolve: { own: { addresses: [], ports: new Set<number>() } },
    };
    expect(denyNow(judge, ASKED, null)).toBeNull();
    entries = ['b.test'];
    expect(denyNow(judge, ASKED, null)?.verdict).toBe('deny');
  });
});

function isReached(host: string, entries: readonly string[]): boolean {
  const parsed = parseAllowList(entries);
  if (!parsed.ok) throw new Error(sentenceOf(parsed.problem[0]));
  return denyHost(parsed.value, host) === null;
}

describe('denyHost()', () => {
  it.each<[string, string[], boolean]>([
    ['example.com', ['example.com'], true],
    ['Example.COM.', ['example.com'], true],
    ['a.example.com', ['example.com'], false],
    ['a.example.com', ['*.example.com'], true],
    ['example.com', ['*.example.com'], false],
    ['evilexample.com', ['*.example.com'], false],
    ['example.com.evil.org', ['example.com', '*.example.com'], false],
    ['example.com', [], false],
    // An entry that says more of the request than an argument tells still lets its host be named.
    ['example.com', ['example.com:8443'], true],
    ['example.com', ['POST https://example.com/v1/'], true],
    // A denying entry takes away what it names, and no more.
    ['bad.example.com', ['*.example.com', '!bad.example.com'], false],
    ['a.example.com', ['*.example.com', '!a.example.com:443'], true],
    // Every spelling of an address is that address.
    ['127.0.0.1', ['127.0.0.1'], true],
    ['0x7f.1', ['127.0.0.1'], true],
    ['2130706433', ['example.com'], false],
    ['169.254.169.254', ['169.254.0.0/16'], false],
    ['8.8.8.8', ['8.8.8.0/24'], true],
    ['exa mple.com', ['*.com.example'], false],
  ])('lets arguments name %s with %j: %s', (host, entries, expected) => {
    expect(isReached(host, entries)).toBe(expected);
  });

  it('says why', () => {
    const parsed = parseAllowList(['*.example.com', '!bad.example.com']);
    if (!parsed.ok) throw new Error();
    expect(denyHost(parsed.value, 'bad.example.com')).toContain('the entry "!bad.example.com" denies it');
    expect(denyHost(parsed.value, 'other.org')).toContain('no entry of the allow-list has this host');
    expect(denyHost(parsed.value, 'a..b')).toContain('expected');
  });
});

const SITE = { scheme: 'https', host: hostOf('api.a.test'), port: 443 } as const;

describe('denySite()', () => {
  it.each([
    [['api.a.test']],
    [['*.a.test', 'other.test:1']],
    [['https://api.a.test/v1/']],
    [['GET https://api.a.test/']],
    [['GET,POST https://api.a.test/', '!GET https://api.a.test/']],
    [['api.a.test', '!POST https://api.a.test/', '!https://api.a.test/admin']],
    [['api.a.test', '!http://api.a.test/']],
  ])('has nothing against a site with %j', (entries) => {
    expect(denySite(listOf(...entries), SITE)).toBeNull();
  });

  it.each([
    [[], 'no entry of the allow-list has this host'],
    [['other.test'], 'no entry of the allow-list has this host'],
    [['api.a.test:8443'], 'its port is not allowed by the entry "api.a.test:8443"'],
    [['http://api.a.test:443/'], 'its scheme is not allowed'],
    [['api.a.test', '!api.a.test'], 'the entry "!api.a.test" denies it'],
    [['api.a.test', '!*.test:443'], 'the entry "!*.test:443" denies it'],
    [['GET https://api.a.test/', '!https://api.a.test/'], 'the entry "!https://api.a.test/" denies it'],
  ])('denies a site with %j', (entries, why) => {
    expect(denySite(listOf(...entries), SITE)?.why).toContain(why);
  });

  it('denies a site that one of two lists denies', () => {
    const both = (first: string, second: string) => narrowList(listOf(first), listOf(second));
    expect(denySite(both('api.a.test', 'other.test'), SITE)).not.toBeNull();
    expect(denySite(both('other.test', 'api.a.test'), SITE)).not.toBeNull();
    expect(denySite(both('api.a.test', 'GET https://api.a.test/v1/'), SITE)).toBeNull();
  });

  it('never denies a site to which some request is allowed', () => {
    const place = fc.constantFrom(
      'api.a.test',
      '*.a.test',
      'api.a.test:443',
      'https://api.a.test/',
      'https://api.a.test/v1',
    );
    const method = fc.constantFrom('', 'GET ', 'GET,POST ');
    const entry = fc.tuple(fc.constantFrom('', '', '!'), method, place).map((parts) => parts.join(''));
    const list = fc.array(entry, { maxLength: 6 }).map((entries) => listOf(...entries));
    const lists: fc.Arbitrary<AllowList> = fc.oneof(
      list,
      fc.tuple(list, list).map(([first, second]) => narrowList(first, second)),
    );
    const request = fc.record({
      method: fc.constantFrom('GET', 'POST', 'DELETE'),
      path: fc.constantFrom('/', '/v1', '/v1/a', '/v2'),
    });
    let allowed = 0;
    fc.assert(
      fc.property(lists, request, (each, asked) => {
        if (decide(each, { ...SITE, ...asked }).verdict === 'deny') return;
        allowed += 1;
        expect(denySite(each, SITE)).toBeNull();
      }),
      { numRuns: 1_000 },
    );
    expect(allowed).toBeGreaterThan(50);
  });
});

describe('namesHttp()', () => {
  const site = { scheme: 'http', host: hostOf('api.a.test'), port: 80 } as const;

  it.each([
    [['http://api.a.test/'], true],
    [['other.test', 'GET http://*.a.test:80/v1/'], true],
    [['api.a.test'], false],
    [['api.a.test:80', '!http://api.a.test:80/'], false],
    [['https://api.a.test:80/'], false],
    [['http://api.a.test:8080/'], false],
    [['http://a.test/'], false],
  ])('of %j is %s', (entries, isNamed) => {
    expect(namesHttp(listOf(...entries), site)).toBe(isNamed);
    expect(namesHttp(narrowList(listOf('api.a.test'), listOf(...entries)), site)).toBe(isNamed);
  });
});
