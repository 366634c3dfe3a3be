import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sentenceOf } from '../../../src/core/result.ts';
import { formatUrl, type HttpUrl, parseHttpUrl } from '../../../src/egress/authority.ts';
import { resolveLocation } from '../../../src/egress/fetch/redirect.ts';

const BASE = 'https://a.test/b/c/d?q';

function urlOf(text: string): HttpUrl {
  const url = parseHttpUrl(text);
  if (!url.ok) throw new Error(sentenceOf(url.problem));
  return url.value;
}

function resolve(location: string, base = BASE): string {
  const url = resolveLocation(urlOf(base), location);
  return url.ok ? formatUrl(url.value) : url.problem.code;
}

describe('resolveLocation()', () => {
  it.each([
    ['https://b.test/x', 'https://b.test/x'],
    ['HTTPS://B.Test:443', 'https://b.test/'],
    ['http://b.test:8080?x', 'http://b.test:8080/?x'],
    ['//b.test/x', 'https://b.test/x'],
    ['//[::1]:8/x', 'https://[::1]:8/x'],
    ['/x/y?z', 'https://a.test/x/y?z'],
    ['x', 'https://a.test/b/c/x'],
    ['./x', 'https://a.test/b/c/x'],
    ['../x', 'https://a.test/b/x'],
    ['../../../../x', 'https://a.test/x'],
    ['..', 'https://a.test/b/'],
    ['.', 'https://a.test/b/c/'],
    ['/x/../y/./z/..', 'https://a.test/y/'],
    ['?z', 'https://a.test/b/c/d?z'],
    ['?a=../b', 'https://a.test/b/c/d?a=../b'],
    ['', BASE],
    ['#f', BASE],
    ['x#//evil.test', 'https://a.test/b/c/x'],
    ['/x//y', 'https://a.test/x//y'],
    ['%2e%2e/x', 'https://a.test/b/c/%2e%2e/x'],
    ['/@evil.test', 'https://a.test/@evil.test'],
    ['/x:y', 'https://a.test/x:y'],
    ['https://127.1/', 'https://127.0.0.1/'],
  ])('takes %j for %s', (location, expected) => {
    expect(resolve(location)).toBe(expected);
  });

  it.each([
    ['file:///etc/passwd', 'denied'],
    ['FILE:/etc/passwd', 'denied'],
    ['gopher://a.test/', 'denied'],
    ['data:text/plain,x', 'denied'],
    ['javascript:x', 'denied'],
    ['unix:/run/docker.sock', 'denied'],
    ['a.test:443/x', 'denied'],
    ['http:/b.test', 'malformed'],
    ['http:b.test', 'malformed'],
    ['https:///b.test', 'malformed'],
    ['///b.test', 'malformed'],
    ['//', 'malformed'],
    ['//user:pass@b.test/', 'malformed'],
    ['https://a.test@b.test/', 'malformed'],
    ['\\\\b.test', 'malformed'],
    ['/\\b.test', 'malformed'],
    ['https:\\\\b.test', 'malformed'],
    ['https://a.test\\@b.test/', 'malformed'],
    ['/a\tb', 'malformed'],
    ['ht\ttps://b.test/', 'malformed'],
    ['/a b', 'malformed'],
    ['/ä', 'malformed'],
    ['https://a.test:0/', 'malformed'],
    ['https://a.test:99999/', 'malformed'],
    ['https://a%2etest/', 'malformed'],
  ])('refuses %j as %s', (location, expected) => {
    expect(resolve(location)).toBe(expected);
  });

  it('does not repeat a password that stands in it', () => {
    expect(JSON.stringify(resolveLocation(urlOf(BASE), '//user:hunter2@b.test/'))).not.toContain('hunter2');
  });
});

const PIECES = [
  ...['/', '/', '//', '\\', ':', '@', '?', '#', '.', '..', '../', './', '&', '=', ';', ','],
  ...['http:', 'https:', 'HTTPS://', 'http://', 'file://', 'javascript:', 'evil.test', 'a.test', 'b', 'c%20'],
  ...[':80', ':443', ':8080', '[::1]', '127.0.0.1', '127.1', '0x7f', '%2e', '%2f', '%5c', '%00', '%'],
  ...['\t', '\n', '\r', ' ', '\0', 'é', 'ｅ', '。', '​', '"', '<', '|', '^', '`', "'", '{'],
];
const LOCATION = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join(''));
const ANY_BASE = fc.constantFrom(
  BASE,
  'http://a.test/',
  'http://127.0.0.1:8080//x/?/..',
  'https://[::1]/a/../b',
);

/** What a browser makes of it, without the fragment and the dot that a name may have at its end. */
function oracle(location: string, base: string): string | null {
  try {
    const url = new URL(location, base);
    url.hash = '';
    url.hostname = url.hostname.replace(/\.$/, '');
    return url.href;
  } catch {
    return null;
  }
}

describe('a Location of any kind', () => {
  it('leads where a browser goes, or nowhere', () => {
    let followed = 0;
    fc.assert(
      fc.property(fc.oneof(LOCATION, fc.webUrl(), fc.string()), ANY_BASE, (location, base) => {
        const url = resolveLocation(urlOf(base), location);
        if (!url.ok) return;
        followed += 1;
        expect(oracle(formatUrl(url.value), base)).toBe(oracle(location, base));
      }),
      { numRuns: 5_000 },
    );
    // It is no proof when nothing gets through.
    expect(followed).toBeGreaterThan(500);
  });

  it('has no dots left to follow and nothing that would end its line', () => {
    fc.assert(
      fc.property(LOCATION, ANY_BASE, (location, base) => {
        const url = resolveLocation(urlOf(base), location);
        if (!url.ok) return;
        expect(url.value.path).toMatch(/^\/[!-~]*$/);
        expect(url.value.path.split('?')[0]).not.toMatch(/\/\.{1,2}(\/|$)/);
      }),
      { numRuns: 2_000 },
    );
  });
});
