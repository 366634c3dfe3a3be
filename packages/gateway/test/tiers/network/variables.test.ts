import { describe, expect, test } from 'vitest';
import { planNetwork } from '../../../src/tiers/network/plan.ts';
import { networkVariables, SAMPLE_PASS, TRUST_FILE } from '../../../src/tiers/network/variables.ts';

/** The variables of a strict run with these entries. */
function variablesFor(entries: readonly string[], pass = SAMPLE_PASS) {
  const plan = planNetwork({ egress: 'strict', egressHosts: entries }, true);
  return plan === null ? {} : networkVariables(plan, pass);
}

describe('a run with a network finds', () => {
  test('its proxy in every spelling, with the token that is its own', () => {
    const { HTTP_PROXY, https_proxy, ALL_PROXY, NODE_USE_ENV_PROXY } = variablesFor(['example.com:443']);
    const proxy = 'http://run:TOKEN@127.0.0.1:3128';
    expect([HTTP_PROXY, https_proxy, ALL_PROXY, NODE_USE_ENV_PROXY]).toEqual([proxy, proxy, proxy, '1']);
  });

  test('its proxy at another port where the list has that one', () => {
    expect(variablesFor(['127.0.0.1:3128']).HTTP_PROXY).toBe('http://run:TOKEN@127.0.0.1:3129');
  });

  test('that it needs no proxy for itself', () => {
    const own = 'localhost,127.0.0.1,::1';
    expect(variablesFor(['http://a.test', '127.0.0.1:80'])).toMatchObject({ NO_PROXY: own, no_proxy: own });
  });

  test('certificates where its TLS is opened, and only there', () => {
    const opened = variablesFor(['a.test'], { ...SAMPLE_PASS, trusted: 'PEM' });
    for (const name of ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS'])
      expect(opened[name]).toBe(TRUST_FILE);
    expect(Object.values(variablesFor(['a.test']))).not.toContain(TRUST_FILE);
  });

  test('its placeholders, none of which takes the place of its proxy', () => {
    const placeholders = { TOKEN: 'placeholder-1', HTTP_PROXY: 'http://elsewhere.test' };
    const { TOKEN, HTTP_PROXY } = variablesFor(['a.test'], { ...SAMPLE_PASS, placeholders });
    expect([TOKEN, HTTP_PROXY]).toEqual(['placeholder-1', 'http://run:TOKEN@127.0.0.1:3128']);
  });
});
