import { describe, expect, it } from 'vitest';
import { sentenceOf } from '../../src/core/result.ts';
import { parseAllowList } from '../../src/egress/allowlist.ts';
import { denyHost } from '../../src/egress/decide.ts';

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
