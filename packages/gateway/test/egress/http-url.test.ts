import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatSite, parseHttpUrl, type Scheme } from '../../src/egress/authority.ts';
import { hostOf } from './sample.ts';

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
