import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AllowList, narrowList } from '../../../src/egress/allowlist.ts';
import { decide, denySite, namesHttp } from '../../../src/egress/decide.ts';
import { hostOf, listOf } from '../sample.ts';

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
