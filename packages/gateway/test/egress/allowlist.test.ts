import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import { sentenceOf } from '../../src/core/result.ts';
import { allAbove, parseAllowList, plantNames } from '../../src/egress/allowlist.ts';
import { decide } from '../../src/egress/decide.ts';
import { listOf, requestOf } from './sample.ts';

function problemOf(entry: unknown): string {
  const parsed = parseAllowList(['example.com', entry]);
  return parsed.ok ? 'ok' : parsed.problem.map(sentenceOf).join('; ');
}

describe('parseAllowList()', () => {
  it.each([
    ...[
      'example.com',
      'Example.COM.',
      '*.example.com',
      'example.com:8443',
      '*.example.com:443',
      'bücher.example',
    ],
    ...[
      'http://example.com',
      'HTTPS://example.com/',
      'https://example.com:8443/v1',
      'https://*.example.com/v1/',
    ],
    ...['GET https://example.com/v1/', 'GET,HEAD example.com', 'POST *.example.com:80', 'QUERY example.com'],
    ...[
      '10.1.2.3',
      '10.1.2.3:8080',
      '10.1.2.0/24',
      '10.1.2.0/24:8080',
      'http://10.1.2.3:80/v1',
      '10.0.0.0/8',
    ],
    ...[
      '[::1]',
      '[::1]:80',
      '[fd12::]/16',
      '[fd12::]/16:80',
      'https://[::1]:8443/x',
      '[::ffff:10.0.0.0]/104',
    ],
    ...[
      '!example.com',
      '!*.com',
      '!example.com:22',
      '!DELETE https://example.com/',
      '!0.0.0.0/0',
      '![::]/0',
      '!10.1.2.3',
    ],
  ])('takes %s', (entry) => {
    expect(problemOf(entry)).toBe('ok');
  });

  it.each([
    ['*', 'every host'],
    ['!*', 'every host'],
    ['*:*', 'every host'],
    ['*:443', 'every host'],
    ['https://*', 'every host'],
    ['https://*/', 'every host'],
    ['*.com', 'top-level domain'],
    ['*.', 'it is empty'],
    ['**.example.com', 'a "*" stands inside'],
    ['*.*.example.com', 'a "*" stands inside'],
    ['a*.example.com', 'a "*" stands inside'],
    ['example.*', 'a "*" stands inside'],
    ['*example.com', 'a "*" stands inside'],
    ['*.10.0.0.1', 'nothing is below an address'],
    ['0.0.0.0/0', 'less than 8'],
    ['0.0.0.0/7', 'less than 8'],
    ['[::]/0', 'less than 7'],
    ['[::ffff:0.0.0.0]/96', 'less than 8'],
    ['10.0.0.0/', 'the prefix is ""'],
    ['10.0.0.0/33', 'the prefix is "33"'],
    ['10.0.0.0/+8', 'the prefix is "+8"'],
    ['10.1.2.3/24', 'expected "10.1.2.0/24"'],
    ['10.0.0.0/8/8', 'a path'],
    ['10.0.0.0/255.0.0.0', 'the prefix is'],
    ['[10.0.0.0]/8', 'is not a valid address'],
    ['010.0.0.0/8', 'neither a range nor a URL'],
    ['0x0a.0.0.0/8', 'neither a range nor a URL'],
    ['010.0.0.1', 'expected "8.0.0.1"'],
    ['127.1', 'expected "127.0.0.1"'],
    ['2130706433', 'expected "127.0.0.1"'],
    ['10.0.0.1.', 'expected "10.0.0.1"'],
    ['300.0.0.1', 'not a valid address'],
    ['::1', 'brackets'],
    ['::1:80', 'brackets'],
    ['fd12::/16', 'brackets'],
    ['[fe80::1%eth0]', 'percent-encoding'],
    ['example.com/v1', 'neither a range nor a URL'],
    ['example.com:', 'not a port number'],
    ['example.com:0', 'not a port number'],
    ['example.com:65536', 'not a port number'],
    ['example.com:http', 'not a port number'],
    ['example.com:80-90', 'not a port number'],
    ['example.com:80:90', 'more than one ":"'],
    ['ftp://example.com', 'the scheme is "ftp"'],
    ['://example.com', 'the scheme is ""'],
    ['https://', 'it is empty'],
    ['https:///v1', 'it is empty'],
    ['https://user@example.com/', 'a user name'],
    ['https://example.com/a?b', 'its path is not plain'],
    ['https://example.com/a#b', 'its path is not plain'],
    ['https://example.com/../a', 'its path is not plain'],
    ['https://example.com/%2e%2e/a', 'its path is not plain'],
    ['https://example.com?x', 'a query'],
    ['https://10.1.2.0/24', 'a range with a scheme'],
    ['https://[fd12::]/16', 'a range with a scheme'],
    ['get https://example.com', '"get" is not a known method'],
    ['GET,,HEAD example.com', '"" is not a known method'],
    ['GTE example.com', '"GTE" is not a known method'],
    ['CONNECT example.com', '"CONNECT" is not a known method'],
    ['GET  example.com', 'not one target'],
    ['GET example.com example.org', 'not one target'],
    ['!!example.com', 'the label "!example"'],
    ['! example.com', '"!" is not a known method'],
    ['!', 'the label "!"'],
    ['', 'not one target'],
    [' example.com', 'not one target'],
    ['example.com ', 'not one target'],
    ['example.com\n', 'not one target'],
    ['exam\0ple.com', 'a NUL'],
    ['exa\u200bmple.com', 'an invisible character'],
    ['a..b', 'an empty label'],
    ['x'.repeat(3_000), 'it has 3000 characters'],
    [null, 'an entry is not a string'],
    [undefined, 'an entry is not a string'],
    [80, 'an entry is not a string'],
    [['example.com'], 'an entry is not a string'],
  ])('says of %j: %s', (entry, why) => {
    expect(problemOf(entry)).toContain(why);
  });

  it.each([[null], [undefined], [{}], ['example.com'], [true], [{ length: 0 }]])(
    'refuses the list %j',
    (raw) => {
      const parsed = parseAllowList(raw);
      expect(parsed.ok ? 'ok' : sentenceOf(parsed.problem[0])).toMatch(
        /^Cannot use allow-list: it is not a list, expected /,
      );
    },
  );

  it('names every entry that is wrong, up to a number', () => {
    const bad = Array.from({ length: 200 }, (_, at) => `bad host ${at}`);
    const parsed = parseAllowList(['example.com', 'a..b', '*', '10.0.0.0/']);
    expect(parsed.ok ? [] : parsed.problem.map(({ entry }) => entry)).toEqual(['a..b', '*', '10.0.0.0/']);
    const many = parseAllowList(bad);
    expect(many.ok ? 0 : many.problem.length).toBe(50);
    expect(parseAllowList(Array.from({ length: 10_001 }, () => 'example.com')).ok).toBe(false);
  });

  it('says what is wrong with hostile text in printable words', () => {
    const text = fc.string({ unit: CHARACTER, maxLength: 30 });
    fc.assert(
      fc.property(text, (entry) => {
        const parsed = parseAllowList([entry]);
        const why = parsed.ok ? 'Cannot use nothing, expected ' : sentenceOf(parsed.problem[0]);
        expect(why).toMatch(/^Cannot use [a-z-]+ ?.*, expected /);
        expect(why).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
      }),
      { numRuns: volume(1_000, 30) },
    );
  });

  it('gives the same list whatever the order of the entries', () => {
    const entries = [
      'b.example',
      '!a.example:80',
      'a.example',
      '*.a.example',
      '10.0.0.0/8:80',
      '10.1.0.0/16:80',
      'a.example',
    ];
    const list = listOf(...entries);
    fc.assert(
      fc.property(fc.shuffledSubarray(entries, { minLength: entries.length }), (shuffled) => {
        expect(listOf(...shuffled)).toEqual(list);
      }),
    );
    expect(decide(list, requestOf('10.1.2.3:80')).rule).toBe('10.0.0.0/8:80');
  });
});

function above(names: readonly string[], name: string): string[] {
  return allAbove(plantNames(new Map(names.map((each) => [each, each]))), name);
}

describe('allAbove()', () => {
  const names = ['com', 'example.com', 'b.example.com', 'x.a.b.example.com', 'org'];

  it.each<[string, string[]]>([
    ['a.b.example.com', ['b.example.com', 'example.com', 'com']],
    ['b.example.com', ['example.com', 'com']],
    ['y.x.a.b.example.com', ['x.a.b.example.com', 'b.example.com', 'example.com', 'com']],
    ['evilexample.com', ['com']],
    ['com', []],
    ['a.com.evil', []],
    ['example.com.org', ['org']],
  ])('of %s is %j', (name, expected) => {
    expect(above(names, name)).toEqual(expected);
  });

  it('finds what a look at every name finds', () => {
    const name = fc
      .array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 5 })
      .map((all) => all.join('.'));
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 24 }), name, (listed, asked) => {
        const expected = listed
          .filter((each) => asked.endsWith(`.${each}`))
          .toSorted((a, b) => b.length - a.length);
        expect(above(listed, asked)).toEqual(expected);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });
});
