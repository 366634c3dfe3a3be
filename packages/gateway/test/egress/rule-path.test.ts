import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { isBeneath, normalizePath, widenPath } from '../../src/egress/rule.ts';

describe('normalizePath()', () => {
  it.each([
    ['/', '/'],
    ['/v1/x', '/v1/x'],
    ['/v1/x?y=/../z', '/v1/x'],
    ['/v1//x', '/v1/x'],
    ['/%76%31/x', '/v1/x'],
    ['/a%20b%c3%a9', '/a%20b%C3%A9'],
    ['/...', '/...'],
    ['/.well-known/x', '/.well-known/x'],
    ['/a..b', '/a..b'],
    ['/a;b=c/d', '/a;b=c/d'],
  ])('reads %s as %s', (raw, path) => {
    expect(normalizePath(raw)).toBe(path);
  });

  it.each([
    ...[
      '',
      '//v1',
      '///v1/x',
      'v1',
      '*',
      'http://example.com/',
      '/a b',
      '/a\tb',
      '/a\r\nb',
      '/a\0',
      '/é',
      '/a#b',
      '/a\\b',
      '/\\..\\b',
    ],
    ...[
      '/..',
      '/a/..',
      '/a/../b',
      '/./a',
      '/a/.',
      '/a//../b',
      '/..;/a',
      '/a/..;x=y/b',
      '/a/.;/b',
      '/..%3b/a',
    ],
    ...[
      '/%2e%2e/a',
      '/.%2E/a',
      '/a%2fb',
      '/a%5Cb',
      '/%252e%252e/a',
      '/%25252fa',
      '/%00',
      '/a%0d%0ab',
      '/%7f',
    ],
    // Overlong UTF-8, surrogates, bytes that are no UTF-8.
    ...[
      '/v1/%c0%ae%c0%ae/a',
      '/v1/%C0%AF',
      '/%e0%80%ae',
      '/%f0%80%80%af',
      '/%c1%9c',
      '/%ed%a0%80',
      '/%ff',
      '/%fe%80',
    ],
    ...['/a%80b', '/%c3', '/%c3(', '/v1/%c0.%c0./a'],
    // Characters that become dots, slashes and the like where a server normalizes or converts text.
    ...[
      '/%ef%bc%8e%ef%bc%8e/a',
      '/%ef%bc%8fadmin',
      '/%ef%bc%bc',
      '/%e2%80%a5/a',
      '/%e2%81%84',
      '/%e2%88%95',
      '/%ef%bc%85',
    ],
    ...['/%', '/%2', '/%zz', '/%u002e', `/${'a'.repeat(8_192)}`],
  ])('knows no form of %j', (raw) => {
    expect(normalizePath(raw)).toBeNull();
  });

  it('has one form for every encoded byte of ASCII, and none for a dot, a slash, a backslash, a control character or half of a character', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      const digits = byte.toString(16).padStart(2, '0');
      const char = String.fromCharCode(byte);
      const encoded = /[A-Za-z0-9_~-]/.test(char) ? char : `%${digits.toUpperCase()}`;
      const isHidden = byte < 0x20 || byte >= 0x7f || './\\'.includes(char);
      const expected = isHidden ? null : `/a${encoded}b`;
      expect([byte, normalizePath(`/a%${digits}b`)]).toEqual([byte, expected]);
      expect([byte, normalizePath(`/a%${digits.toUpperCase()}b`)]).toEqual([byte, expected]);
    }
  });

  it.each(['/caf%C3%A9', '/%E6%97%A5%E6%9C%AC/%F0%9F%8E%89', '/%D0%BF%D1%83%D1%82%D1%8C'])(
    'keeps %j',
    (path) => {
      expect(normalizePath(path)).toBe(path);
      expect(normalizePath(path.toLowerCase())).toBe(path);
    },
  );

  it('gives what a URL parser leaves as it is, and nothing twice', () => {
    const text = fc.string({ unit: fc.constantFrom(...'/.%2eEfF5cCaZ;?#\\ ~1'), maxLength: 16 });
    fc.assert(
      fc.property(text, (raw) => {
        const path = normalizePath(`/${raw}`);
        fc.pre(path !== null);
        expect(normalizePath(path)).toBe(path);
        expect(new URL(`http://example.com${path}`).pathname).toBe(path);
      }),
      { numRuns: volume(3_000, 30) },
    );
  });
});

describe('isBeneath()', () => {
  it.each([
    ['/v1', '/v1', true],
    ['/v1/x', '/v1', true],
    ['/v1x', '/v1', false],
    ['/v', '/v1', false],
    ['/v1/', '/v1/', true],
    ['/v1/x', '/v1/', true],
    ['/v1', '/v1/', false],
    ['/V1/x', '/v1/', false],
  ])('of %s and %s is %s', (path, prefix, expected) => {
    expect(isBeneath(path, prefix)).toBe(expected);
  });
});

describe('widenPath()', () => {
  it.each([
    ['/Admin/', '/admin'],
    ['/admin;x=1/a', '/admin/a'],
    ['/;x/admin', '/admin'],
    ['/admin%3Bx', '/admin'],
    ['/', '/'],
  ])('reads %s as %s', (path, expected) => {
    expect(widenPath(path)).toBe(expected);
  });
});
