import { describe, expect, it } from 'vitest';
import { sentenceOf } from '../../src/core/result.ts';
import { type AllowList, parseAllowList } from '../../src/egress/allowlist.ts';
import { accept, ask, makeHost, verdict } from './sample.ts';

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
    const curl = (...args: string[]) => ask(host, { command: 'curl', args, egress: 'preflight' });
    expect(curl('-sSLo', 'x', 'https://a.example.com:8443/x')).toMatchObject({ ok: true });
    expect(curl('http://a.example.org')).toMatchObject({
      code: 'runner/egress-denied',
      message: expect.stringContaining('name the host "a.example.org"'),
    });
    expect(clone('https://git.example.org/x')).toMatchObject({
      ok: false,
      code: 'runner/egress-denied',
    });
  });
});
