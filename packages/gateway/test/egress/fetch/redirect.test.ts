import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../../../tests/volume/characters.ts';
import { volume } from '../../../../../tests/volume/volume.ts';
import { sentenceOf } from '../../../src/core/result.ts';
import { formatUrl, type HttpUrl, parseHttpUrl } from '../../../src/egress/authority.ts';
import type { HeaderPair } from '../../../src/egress/fetch/outcome.ts';
import { followRedirect, isRedirect, resolveLocation } from '../../../src/egress/fetch/redirect.ts';
import { type PreparedRequest, readRequest } from '../../../src/egress/fetch/request.ts';
import type { Field } from '../../../src/egress/http1/fields.ts';
import { DEFAULT_FETCH_LIMITS } from '../../../src/egress/limits.ts';
import type { BoundSecret } from '../../../src/egress/secrets.ts';

const FROM = 'https://a.test/b';
const SECRET: BoundSecret = { name: 'key', placeholder: '{{key}}', value: 's3cret', isFor: () => true };
const OF_BODY = ['content-type', 'content-encoding', 'content-language', 'content-location'];
const HEADERS: HeaderPair[] = [
  ...OF_BODY.map((name): HeaderPair => [name, 'x']),
  ['Authorization', 'Basic x'],
  ['Cookie', 'a=b'],
  ['X-Api-Key', 'x'],
  ['X-Goog-Session-Id', 'x'],
  ['Private-Token', 'x'],
  ['X-Plain', `before {{key}} after`],
  ['Accept', '*/*'],
  ['X-Keyboard', 'qwerty'],
];
const PUBLIC = ['accept', 'x-keyboard'];

function requestFor(method: string, body: string | null, url = FROM): PreparedRequest {
  const bytes = body === null ? null : Buffer.from(body);
  const prepared = readRequest({ url, method, headers: HEADERS, body: bytes }, DEFAULT_FETCH_LIMITS);
  if (!prepared.ok) throw new Error(prepared.problem.why);
  return prepared.value;
}

function locationsOf(...values: string[]): Field[] {
  return values.map((value) => ({ name: 'location', rawName: 'Location', value }));
}

function follow(prepared: PreparedRequest, status: number, ...locations: string[]) {
  return followRedirect(prepared, { status, fields: locationsOf(...locations) }, [SECRET]);
}

function namesIn(prepared: PreparedRequest): string[] {
  return prepared.fields.map(({ name }) => name);
}

describe('isRedirect()', () => {
  it.each([
    [301, true],
    [302, true],
    [303, true],
    [307, true],
    [308, true],
    [200, false],
    [201, false],
    [300, false],
    [304, false],
    [305, false],
    [306, false],
    [404, false],
  ])('says of %i: %s', (status, expected) => {
    expect(isRedirect({ status, fields: locationsOf('/x') })).toBe(expected);
    expect(isRedirect({ status, fields: [] })).toBe(false);
  });
});

describe('followRedirect()', () => {
  it.each([
    ['POST', 301, 'GET', false],
    ['POST', 302, 'GET', false],
    ['POST', 303, 'GET', false],
    ['POST', 307, 'POST', true],
    ['POST', 308, 'POST', true],
    ['PUT', 301, 'PUT', true],
    ['PUT', 302, 'PUT', true],
    ['PUT', 303, 'GET', false],
    ['DELETE', 302, 'DELETE', true],
    ['DELETE', 303, 'GET', false],
  ])('turns %s with %i into %s on its own origin', (method, status, expected, hasBody) => {
    const next = follow(requestFor(method, 'body'), status, 'c');
    if (!next.ok) throw new Error(next.problem.why);
    expect(next.value.method).toBe(expected);
    expect(next.value.body === null).toBe(!hasBody);
    expect(formatUrl(next.value.url)).toBe('https://a.test/c');
    const names = namesIn(next.value);
    expect(OF_BODY.filter((name) => names.includes(name))).toEqual(hasBody ? OF_BODY : []);
    expect(names).toEqual(expect.arrayContaining(['authorization', 'cookie', 'x-plain']));
  });

  it.each(['GET', 'HEAD'])('lets %s be %s', (method) => {
    for (const status of [301, 302, 303, 307, 308])
      expect(follow(requestFor(method, null), status, 'c')).toMatchObject({ value: { method, body: null } });
  });

  it.each([
    ['another host', FROM, 'https://b.test/'],
    ['a host below', FROM, 'https://b.a.test/'],
    ['another port', FROM, 'https://a.test:8443/'],
    ['another scheme', 'http://a.test/b', 'https://a.test/'],
  ])('takes no credential along to %s', (_what, from, to) => {
    const next = follow(requestFor('POST', 'body', from), 303, to);
    if (!next.ok) throw new Error(next.problem.why);
    expect(namesIn(next.value)).toEqual(PUBLIC);
    const back = follow(next.value, 302, from.replace('http:', 'https:'));
    expect(back.ok && namesIn(back.value)).toEqual(PUBLIC);
  });

  it.each([
    ['POST', 307],
    ['POST', 308],
    ['PUT', 301],
    ['PATCH', 302],
  ])('takes no body along to another origin: %s with %i', (method, status) => {
    expect(follow(requestFor(method, 'body'), status, 'https://b.test/')).toMatchObject({
      ok: false,
      problem: {
        code: 'denied',
        why: 'Cannot follow redirect to "https://b.test": the body would leave its origin, expected GET',
      },
    });
    expect(follow(requestFor(method, null), status, 'https://b.test/')).toMatchObject({ value: { method } });
  });

  it('goes from http to https and never back', () => {
    expect(follow(requestFor('GET', null, 'http://a.test/'), 301, 'https://a.test/').ok).toBe(true);
    expect(follow(requestFor('GET', null), 301, 'http://a.test/')).toMatchObject({
      problem: {
        code: 'denied',
        why: 'Cannot follow redirect to "http://a.test": it is not encrypted, expected "https"',
      },
    });
  });

  it('refuses two places to go to', () => {
    expect(follow(requestFor('GET', null), 302, '/a', '/a')).toMatchObject({
      ok: false,
      problem: { code: 'malformed' },
    });
  });
});

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
    ['%2e%2e/x', 'https://a.test/b/x'],
    ['%2e/../', 'https://a.test/b/'],
    ['.%2E/%2e/x', 'https://a.test/b/x'],
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
    const numRuns = volume(5_000, 1_000);
    let followed = 0;
    fc.assert(
      fc.property(fc.oneof(LOCATION, webUrl(), fc.string()), ANY_BASE, (location, base) => {
        const url = resolveLocation(urlOf(base), location);
        if (!url.ok) return;
        followed += 1;
        expect(oracle(formatUrl(url.value), base)).toBe(oracle(location, base));
      }),
      { numRuns },
    );
    // It is no proof when nothing gets through.
    expect(followed).toBeGreaterThan(numRuns / 10);
  });

  it('has no dots left to follow and nothing that would end its line', () => {
    fc.assert(
      fc.property(LOCATION, ANY_BASE, (location, base) => {
        const url = resolveLocation(urlOf(base), location);
        if (!url.ok) return;
        expect(url.value.path).toMatch(/^\/[!-~]*$/);
        expect(url.value.path.split('?')[0]).not.toMatch(/\/\.{1,2}(\/|$)/);
      }),
      { numRuns: volume(2_000, 300) },
    );
  });
});
