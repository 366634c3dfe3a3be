import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { decide, type EgressRequest } from '../../src/egress/decide.ts';
import { parseRule, type Rule } from '../../src/egress/rule.ts';
import { firstFit, groupRules, normalizeRequest, unmetTerm } from '../../src/egress/rule-set.ts';
import { hostOf, listOf, requestOf } from './sample.ts';

const SEGMENTS = ['a', 'b', 'A', 'a;b', '%C3%A9', 'a%2fb', '..', ''];
const METHODS = ['GET', 'POST', 'get'];
const PORTS = [80, 443, 8_080, 1, 2];

const path = fc
  .tuple(fc.array(fc.constantFrom(...SEGMENTS), { maxLength: 4 }), fc.constantFrom('', '/'))
  .map(([segments, end]) => `/${segments.join('/')}${end}`);
const scheme = fc.constantFrom('http', 'https');
const entry = fc
  .record({
    bang: fc.constantFrom('', '!'),
    methods: fc.constantFrom('', '', 'GET ', 'POST,GET '),
    scheme,
    port: fc.constantFrom('', ...PORTS.map((port) => `:${port}`)),
    path: fc.option(path),
  })
  .map((each) => {
    const target = `example.com${each.port}`;
    const url = each.path === null ? target : `${each.scheme}://${target}${each.path}`;
    return `${each.bang}${each.methods}${url}`;
  });
const request: fc.Arbitrary<EgressRequest> = fc.record({
  host: fc.constant(hostOf('example.com')),
  port: fc.constantFrom(...PORTS),
  scheme: fc.option(fc.constantFrom('http' as const, 'https' as const), { nil: undefined }),
  method: fc.option(fc.constantFrom(...METHODS), { nil: undefined }),
  path: fc.option(path, { nil: undefined }),
});

function rulesOf(entries: readonly string[]): Rule[] {
  return entries
    .map(parseRule)
    .flatMap((rule) => (rule.ok ? [rule.value] : []))
    .toSorted((a, b) => (a.entry < b.entry ? -1 : 1));
}

describe('firstFit()', () => {
  it.each(['allowing', 'denying'] as const)('finds among many %s rules what a look at each finds', (list) => {
    const many = fc.uniqueArray(entry, { minLength: 40, maxLength: 80 }).map(rulesOf);
    fc.assert(
      fc.property(many, fc.array(request, { minLength: 8, maxLength: 8 }), (rules, requests) => {
        const [first] = rules;
        fc.pre(first !== undefined);
        const group = groupRules(first.place, rules);
        for (const requested of requests) {
          const normalized = normalizeRequest(requested);
          const expected = group[list].rules.find((rule) => unmetTerm(rule, normalized) === null);
          expect(firstFit(group[list], normalized)?.entry).toBe(expected?.entry);
        }
      }),
      { numRuns: volume(300, 30) },
    );
  });
});

describe('decide() with a thousand rules for one host', () => {
  const items = Array.from({ length: 500 }, (_, at) => `GET http://example.com/v1/item-${at}/`);
  const denied = Array.from({ length: 499 }, (_, at) => `!http://example.com/v1/item-${at}/secret`);
  const list = listOf('example.com:8080', ...items, ...denied);
  const verdictOf = (text: string) => decide(list, requestOf(text)).verdict;

  it.each([
    ['allow', 'GET http://example.com:80/v1/item-7/x'],
    ['deny', 'POST http://example.com:80/v1/item-7/x'],
    ['deny', 'GET http://example.com:80/v1/item-7'],
    ['deny', 'GET http://example.com:80/v1/item-700/x'],
    ['deny', 'GET http://example.com:80/v1/item-7/secret'],
    ['deny', 'GET http://example.com:80/v1/item-7/SECRET/x'],
    ['allow', 'GET http://example.com:80/v1/item-7/secrets'],
    ['allow', 'GET http://example.com:80/v1/item-499/secret'],
    // What cannot be read, or is not seen, may be what is denied.
    ['deny', 'GET http://example.com:80/v1/item-499/x%2f..%2fy'],
    ['deny', 'example.com:8080'],
    ['allow', 'GET https://example.com:8080/'],
  ])('says %s to %s', (verdict, text) => {
    expect(verdictOf(text)).toBe(verdict);
  });
});
