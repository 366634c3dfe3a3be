import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../../tests/volume/characters.ts';
import { sentenceOf } from '../../src/core/result.ts';
import { type AllowList, parseAllowList } from '../../src/egress/allowlist.ts';
import { hostsIn } from '../../src/runner/host-lists.ts';
import { accept, ask, makeHost, verdict } from './sample.ts';

describe('hostsIn()', () => {
  it.each<[string, string[], string[]]>([
    ['git', ['clone', 'https://Example.com/x.git'], ['example.com']],
    ['git', ['clone', 'git@example.com:group/x.git'], ['example.com']],
    ['git', ['clone', 'ssh://git@example.com.:22/x'], ['example.com']],
    ['git', ['clone', 'git+ssh://example.com/x'], ['example.com']],
    ['tool', ['--url=https://example.com:8443/x', '-uhttp://b.example'], ['example.com', 'b.example']],
    ['tool', ['--listen=127.0.0.1:80'], ['127.0.0.1']],
    ['tool', ['localhost:5432', '[::1]:80'], ['localhost', '::1']],
    ['tool', ['http://[2001:db8::1]:80/x'], ['2001:db8::1']],
    ['tool', ['10.0.0.1', '::1'], ['10.0.0.1', '::1']],
    ['tool', ['status', 'main.c', '--out=a.txt', 'a/b', 'file:///etc/passwd', '-O2'], []],
    ['curl', ['-s', 'example.com/x', '-o', 'out.html'], ['example.com']],
    ['/usr/bin/curl', ['0x7f000001', '2130706433', '127.1'], ['0x7f000001', '2130706433', '127.1']],
    ['ssh', ['-p', '22', 'user@example.com', 'uptime'], ['example.com', 'uptime']],
    ['scp', ['x', 'example.com:/srv/x'], ['x', 'example.com']],
    ['nc', ['example.com', '80'], ['example.com', '80']],
  ])('of %s %j are %j', (program, args, hosts) => {
    expect([...hostsIn(args, program)].sort()).toEqual([...hosts].sort());
  });

  it('gives every host that a doubtful URL can mean', () => {
    expect(hostsIn(['https://good.example@evil.example/'], 'tool')).toContain('evil.example');
    expect(hostsIn(['https://a@good.example@evil.example/'], 'tool')).toEqual(
      expect.arrayContaining(['good.example', 'evil.example']),
    );
    expect(hostsIn(['https://good.example\\@evil.example/'], 'tool')).toEqual(
      expect.arrayContaining(['good.example', 'evil.example']),
    );
  });

  it('finds what the URL parser of Node finds', () => {
    fc.assert(
      fc.property(webUrl(['http', 'https', 'ftp']), (url) => {
        expect(hostsIn([`--x=${url}`], 'tool')).toContain(new URL(url).hostname.replace(/\.$/, ''));
      }),
    );
  });
});

function listOf(...entries: string[]): AllowList {
  const parsed = parseAllowList(entries);
  if (!parsed.ok) throw new Error(sentenceOf(parsed.problem[0]));
  return parsed.value;
}

describe('termsOf() and the network', () => {
  it('holds it strictly unless the operator lets a call ask for less', () => {
    const host = makeHost();
    expect(accept(host, {}).terms.egress).toBe('strict');
    for (const egress of ['preflight', 'none'] as const) {
      expect(verdict(ask(host, { egress }))).toBe('runner/egress-denied');
      expect(verdict(ask(host, { egress }, { ...host.settings, loosestEgress: 'none' }))).toBe('ok');
    }
    expect(verdict(ask(host, { egress: 'none' }, { ...host.settings, loosestEgress: 'preflight' }))).toBe(
      'runner/egress-denied',
    );
  });

  it('looks at the hosts before the start in preflight', () => {
    const host = makeHost({ loosestEgress: 'preflight', egressHosts: listOf('*.example.com') });
    const clone = (url: string) => ask(host, { command: 'git', args: ['clone', url], egress: 'preflight' });
    expect(clone('https://git.example.com/x')).toMatchObject({
      ok: true,
      facts: { hosts: ['git.example.com'] },
    });
    expect(clone('https://git.example.org/x')).toMatchObject({
      ok: false,
      code: 'runner/egress-denied',
    });
  });
});
