import { describe, expect, it } from 'vitest';
import type { Host } from '../../../src/egress/authority.ts';
import { type CertificateAuthority, newInterceptor } from '../../../src/egress/tls/certificate.ts';
import { hostOf } from '../sample.ts';
import { authorityOf, startTls, visit } from './authorities.ts';

const CONTEXTS = 1_024;
const isExample = (host: Host) => host.kind === 'name' && host.name.endsWith('.example');

/** An authority that counts the leaves it makes. One leaf is handed out for all: only how often is of interest. */
function countLeaves() {
  const leaf = authorityOf({}).leafFor(hostOf('any.example'));
  const made: Host[] = [];
  const authority: CertificateAuthority = {
    certificatePem: '',
    leafFor: (host) => {
      made.push(host);
      return leaf;
    },
  };
  return { interceptor: newInterceptor({ authority, isFor: () => true }), made };
}

describe('an interceptor', () => {
  it('stands in for its hosts before who trusts the authority, and before nobody else', async () => {
    const authority = authorityOf({});
    const { contextFor } = newInterceptor({ authority, isFor: isExample });
    const port = await startTls({
      SNICallback: (name, answer) => answer(null, contextFor(hostOf(name))),
    });
    for (const host of ['one.example', 'two.example', 'ONE.example']) {
      expect(await visit({ port, host, ca: authority.certificatePem })).toBe('trusted');
      expect(await visit({ port, host, ca: authorityOf({}).certificatePem })).toMatch(/SIGNATURE|ISSUER/);
    }
  });

  it('says which hosts it is for, and has nothing for the others', () => {
    const { isFor, contextFor } = newInterceptor({ authority: authorityOf({}), isFor: isExample });
    expect(['one.example', 'one.test', '192.0.2.1'].map((host) => isFor(hostOf(host)))).toEqual([
      true,
      false,
      false,
    ]);
    expect(() => contextFor(hostOf('one.example'))).not.toThrow();
    for (const host of ['one.test', '192.0.2.1'])
      expect(() => contextFor(hostOf(host))).toThrow(`Cannot open tunnel: "${host}" is not a host to open`);
  });

  it('makes one certificate for a host, however it is spelled', () => {
    const { interceptor, made } = countLeaves();
    const spellings = ['one.example', 'One.Example', 'one.example.'];
    expect(new Set(spellings.map((each) => interceptor.contextFor(hostOf(each)))).size).toBe(1);
    expect(
      new Set(['127.0.0.1', '2130706433', '::1'].map((each) => interceptor.contextFor(hostOf(each)))).size,
    ).toBe(2);
    expect(made.length).toBe(3);
  });

  it(`keeps the ${CONTEXTS} hosts that were used last, and no more`, () => {
    const { interceptor, made } = countLeaves();
    const ask = (index: number) => interceptor.contextFor(hostOf(`host-${index}.example`));
    for (let index = 0; index < CONTEXTS; index += 1) ask(index);
    const [first, second] = [ask(0), ask(1)];
    expect(made.length).toBe(CONTEXTS);
    for (let index = CONTEXTS; index < CONTEXTS + 10; index += 1) ask(index);
    expect(made.length).toBe(CONTEXTS + 10);
    expect(ask(0)).toBe(first);
    expect(ask(1)).toBe(second);
    expect(made.length).toBe(CONTEXTS + 10);
    ask(2);
    expect(made.length).toBe(CONTEXTS + 11);
  });
});
