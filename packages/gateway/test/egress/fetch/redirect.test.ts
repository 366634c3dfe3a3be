import { describe, expect, it } from 'vitest';
import { formatUrl } from '../../../src/egress/authority.ts';
import type { HeaderPair } from '../../../src/egress/fetch/outcome.ts';
import { followRedirect, isRedirect } from '../../../src/egress/fetch/redirect.ts';
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

function errandOf(method: string, body: string | null, url = FROM): PreparedRequest {
  const bytes = body === null ? null : Buffer.from(body);
  const errand = readRequest({ url, method, headers: HEADERS, body: bytes }, DEFAULT_FETCH_LIMITS);
  if (!errand.ok) throw new Error(errand.problem.why);
  return errand.value;
}

function locationsOf(...values: string[]): Field[] {
  return values.map((value) => ({ name: 'location', rawName: 'Location', value }));
}

function follow(errand: PreparedRequest, status: number, ...locations: string[]) {
  return followRedirect(errand, { status, fields: locationsOf(...locations) }, [SECRET]);
}

function namesIn(errand: PreparedRequest): string[] {
  return errand.fields.map(({ name }) => name);
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
    const next = follow(errandOf(method, 'body'), status, 'c');
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
      expect(follow(errandOf(method, null), status, 'c')).toMatchObject({ value: { method, body: null } });
  });

  it.each([
    ['another host', FROM, 'https://b.test/'],
    ['a host below', FROM, 'https://b.a.test/'],
    ['another port', FROM, 'https://a.test:8443/'],
    ['another scheme', 'http://a.test/b', 'https://a.test/'],
  ])('takes no credential along to %s', (_what, from, to) => {
    const next = follow(errandOf('POST', 'body', from), 303, to);
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
    expect(follow(errandOf(method, 'body'), status, 'https://b.test/')).toMatchObject({
      ok: false,
      problem: {
        code: 'denied',
        why: 'Cannot follow redirect to "https://b.test": the body would leave its origin, expected GET',
      },
    });
    expect(follow(errandOf(method, null), status, 'https://b.test/')).toMatchObject({ value: { method } });
  });

  it('goes from http to https and never back', () => {
    expect(follow(errandOf('GET', null, 'http://a.test/'), 301, 'https://a.test/').ok).toBe(true);
    expect(follow(errandOf('GET', null), 301, 'http://a.test/')).toMatchObject({
      problem: {
        code: 'denied',
        why: 'Cannot follow redirect to "http://a.test": it is not encrypted, expected "https"',
      },
    });
  });

  it('refuses two places to go to', () => {
    expect(follow(errandOf('GET', null), 302, '/a', '/a')).toMatchObject({
      ok: false,
      problem: { code: 'malformed' },
    });
  });
});
