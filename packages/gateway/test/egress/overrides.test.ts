import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide } from '../../src/egress/decide.ts';
import { findOverrides, newFormWatch, type Override } from '../../src/egress/overrides.ts';
import { listOf, requestOf } from './sample.ts';

const fieldsOf = (...names: string[]) =>
  names.map((rawName) => ({ name: rawName.toLowerCase(), rawName, value: 'x' }));

const METHOD_HEADERS = [
  'X-HTTP-Method-Override',
  'X-HTTP-Method',
  'X-Method-Override',
  'x_http_method_override',
];
const PATH_HEADERS = [
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-Original-URI',
  'X-Forwarded-Uri',
  'x_rewrite_url',
];

describe('findOverrides()', () => {
  it.each(METHOD_HEADERS)('finds another method in %s', (name) => {
    expect(findOverrides(fieldsOf('Accept', name), '/')).toEqual([{ term: 'method', by: `header ${name}` }]);
  });

  it.each(PATH_HEADERS)('finds another path in %s', (name) => {
    expect(findOverrides(fieldsOf(name), '/')).toEqual([{ term: 'path', by: `header ${name}` }]);
  });

  it.each([
    '_method=PUT',
    'a=1&_method',
    'a;_METHOD=x',
    '%5fmethod=x',
    '_metho%64=x',
    ' _method=x',
    '_method[]=x',
    '.method=x',
    '%5Bmethod=x',
    '+method=x&.method=y',
  ])('finds another method in the query "%s"', (query) => {
    expect(findOverrides([], `/a?${query}`)).toEqual([{ term: 'method', by: 'query parameter _method' }]);
  });

  it.each(['/_method=PUT', '/a?payment_method=card', '/a?method=PUT', '/a?q=_method', '/a?x=&y=_method=z'])(
    'finds none in %s',
    (path) => {
      const ordinary = ['Accept', 'X-Requested-With', 'X-Forwarded-For', 'X-Api-Key'];
      expect(findOverrides(fieldsOf(...ordinary), path)).toEqual([]);
    },
  );
});

describe('newFormWatch()', () => {
  const ofType = (value: string) => newFormWatch([{ name: 'content-type', rawName: 'Content-Type', value }]);
  const URL_ENCODED = 'application/x-www-form-urlencoded; charset=utf-8';
  const MULTIPART = 'multipart/form-data; boundary=x';
  const FIELD: Override = { term: 'method', by: 'form field _method' };

  it.each([
    [URL_ENCODED, 'a=1&_method=DELETE&b=2'],
    [URL_ENCODED, '%5F%6dethod=DELETE'],
    [MULTIPART, '--x\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--x--\r\n'],
    [MULTIPART, '--x\r\ncontent-disposition: form-data; NAME=_method\r\n\r\nDELETE\r\n--x--\r\n'],
  ])('finds the method in a form of %s, however it is cut into pieces', (type, body) => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(sizes, (cuts) => {
        const watch = ofType(type);
        const bytes = Buffer.from(body);
        const found: (Override | null | undefined)[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const end = at + (cuts[turn % cuts.length] ?? 1);
          found.push(watch?.(bytes.subarray(at, end)));
          at = end;
        }
        expect(found).toContainEqual(FIELD);
      }),
      { numRuns: 50 },
    );
  });

  it('finds none in values and in names that only end like it, however they are cut', () => {
    const body = Buffer.from(`payment_method=card&q=_method=x&${'y'.repeat(600)}_method=1&z==&_methods=2`);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 80 }), (size) => {
        const watch = ofType(URL_ENCODED);
        for (let at = 0; at < body.length; at += size)
          expect(watch?.(body.subarray(at, at + size))).toBeNull();
      }),
    );
  });

  it('does not watch what is not a form', () => {
    for (const type of [
      'application/octet-stream',
      'application/json; charset=utf-16',
      'text/plain; a="b,c"',
    ])
      expect(ofType(type)).toBeNull();
  });

  const typed = (...fields: [name: string, value: string][]) =>
    fields.map(([rawName, value]) => ({ name: rawName.toLowerCase(), rawName, value }));
  const JSON_TYPE: [string, string] = ['Content-Type', 'application/json'];

  it.each<[string, [string, string][]]>([
    ['no type', []],
    ['two types', [JSON_TYPE, ['content-type', URL_ENCODED]]],
    ['a list of types', [['Content-Type', `application/json, ${URL_ENCODED}`]]],
    ['a type that is not one', [['Content-Type', 'form']]],
    ['a type for the next hop only', [JSON_TYPE, ['Connection', 'close, Content-Type']]],
  ])('takes a body with %s for a form of any kind', (_, fields) => {
    for (const body of ['a=1&_method=DELETE', 'Content-Disposition: form-data; name="_method"\r\n'])
      expect(newFormWatch(typed(...fields))?.(Buffer.from(body))).toEqual(FIELD);
    expect(newFormWatch(typed(...fields))?.(Buffer.from('{"a":1}'))).toBeNull();
  });

  it.each([
    ['name="_me\\thod"', '_method'],
    ["name*=utf-8''%5fmethod", '_method'],
    ['name*0="_me"; name*1="thod"', '_me'],
    ['name="=?utf-8?Q?_method?="', '=?utf-8?Q?_method?='],
    ['name=".method"', '_method'],
  ])('finds the name %s of a part', (name, found) => {
    const watch = ofType(MULTIPART);
    expect(watch?.(Buffer.from(`--x\r\nContent-Disposition: form-data; ${name}\r\n\r\n`))).toEqual({
      term: 'method',
      by: `form field ${found}`,
    });
  });

  it.each<[string, [string, string][], string | null]>([
    [
      'compressed',
      [
        ['Content-Type', URL_ENCODED],
        ['Content-Encoding', 'gzip'],
      ],
      'Content-Encoding',
    ],
    ['compressed, without a type', [['Content-Encoding', 'br']], 'Content-Encoding'],
    ['in another character set', [['Content-Type', `${MULTIPART}; charset="utf-16"`]], 'Content-Type'],
    [
      'plain',
      [
        ['Content-Type', URL_ENCODED],
        ['Content-Encoding', 'identity'],
      ],
      null,
    ],
    ['compressed, and no form', [JSON_TYPE, ['Content-Encoding', 'gzip']], null],
  ])('a form that is %s can name any method, or none', (_, fields, header) => {
    const expected = header === null ? [] : [{ term: 'method', by: `header ${header}` }];
    expect(findOverrides(typed(...fields), '/')).toEqual(expected);
  });
});

describe('decide() on a request with an override', () => {
  const LIST = listOf(
    'GET https://a.test/v1/',
    'POST https://a.test/forms',
    'https://b.test/v1/',
    'c.test:443',
  );
  const verdict = (text: string, term: Override['term']) =>
    decide(LIST, { ...requestOf(text), overrides: [{ term, by: 'header X' }] });

  it.each<[string, Override['term'], string]>([
    ['GET https://a.test:443/v1/x', 'method', 'deny'],
    ['GET https://a.test:443/v1/x', 'path', 'deny'],
    ['POST https://a.test:443/forms', 'method', 'deny'],
    ['GET https://b.test:443/v1/x', 'method', 'allow'],
    ['GET https://b.test:443/v1/x', 'path', 'deny'],
    ['GET https://c.test:443/', 'method', 'allow'],
    ['GET https://c.test:443/', 'path', 'allow'],
  ])('gives for %s with another %s: %s', (text, term, expected) => {
    expect(decide(LIST, requestOf(text)).verdict).toBe('allow');
    expect(verdict(text, term).verdict).toBe(expected);
  });

  it('counts against it where an entry denies a method or a path', () => {
    const list = listOf('a.test:443', '!DELETE https://a.test', '!https://b.test/admin', 'b.test:443');
    const get = (host: string, term: Override['term']) =>
      decide(list, { ...requestOf(`GET https://${host}:443/x`), overrides: [{ term, by: 'header X' }] });
    expect([get('a.test', 'method').verdict, get('b.test', 'path').verdict]).toEqual(['deny', 'deny']);
    expect([get('a.test', 'path').verdict, get('b.test', 'method').verdict]).toEqual(['allow', 'allow']);
  });

  it('says what overrides which term', () => {
    expect(verdict('GET https://a.test:443/v1/x', 'method').why).toBe(
      'Cannot reach "a.test:443": the entry "GET https://a.test/v1/" requires its method, which its header X may override, expected a request without that',
    );
  });
});
