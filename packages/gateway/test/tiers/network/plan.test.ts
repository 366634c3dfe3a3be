import { describe, expect, test } from 'vitest';
import { formatHost } from '../../../src/egress/authority.ts';
import {
  hasNetwork,
  networkVariables,
  networkWords,
  planNetwork,
  SAMPLE_PASS,
  TRUST_FILE,
} from '../../../src/tiers/network/plan.ts';

/** The listeners of a strict run with these entries: where each is, and what it stands for. */
function doorsFor(entries: readonly string[], takesNames = true): string[] {
  const plan = planNetwork({ egress: 'strict', egressHosts: entries }, takesNames);
  return (plan?.listeners ?? []).map(({ address, port, door }) => {
    const means =
      door === null ? 'proxy' : `${formatHost(door.host)}:${door.port}${door.isHttp ? ' http' : ''}`;
    return `${address}:${port} ${means}`;
  });
}

function namesFor(entries: readonly string[]): string[] {
  const plan = planNetwork({ egress: 'strict', egressHosts: entries }, true);
  return (plan?.names ?? []).map(({ address, name }) => `${address} ${name}`);
}

describe('a strict run', () => {
  test('has a network where something is allowed, and none otherwise', () => {
    expect(hasNetwork({ egress: 'strict', egressHosts: ['example.com'] })).toBe(true);
    expect(hasNetwork({ egress: 'strict', egressHosts: [] })).toBe(false);
    expect(hasNetwork({ egress: 'strict', egressHosts: ['!example.com'] })).toBe(false);
    expect(planNetwork({ egress: 'strict', egressHosts: ['!example.com'] }, true)).toBeNull();
  });

  test('that is not strict has no network of its own, whatever is allowed', () => {
    for (const egress of ['preflight', 'none'] as const)
      expect(planNetwork({ egress, egressHosts: ['example.com'] }, true)).toBeNull();
  });
});

describe('doors', () => {
  test('stand for each port of a name, and read HTTP where nothing else is allowed there', () => {
    expect(doorsFor(['example.com', 'http://api.example.com:8080', 'db.example.com:5432'])).toEqual([
      '127.0.0.1:3128 proxy',
      '127.0.1.1:80 example.com:80 http',
      '127.0.1.1:443 example.com:443',
      '127.0.1.2:8080 api.example.com:8080 http',
      '127.0.1.3:5432 db.example.com:5432',
    ]);
  });

  test('do not read what may be TLS', () => {
    expect(doorsFor(['http://a.test:8443', 'https://a.test:8443'])).toContain('127.0.1.1:8443 a.test:8443');
    expect(doorsFor(['http://a.test:8443', 'a.test:8443'])).toContain('127.0.1.1:8443 a.test:8443');
    expect(doorsFor(['GET https://a.test/v1/'])).toContain('127.0.1.1:443 a.test:443');
  });

  test('are one for several entries of a host and port', () => {
    expect(doorsFor(['GET http://a.test/x', 'POST http://a.test/y'])).toEqual([
      '127.0.0.1:3128 proxy',
      '127.0.1.1:80 a.test:80 http',
    ]);
  });

  test('stand at addresses of the host itself that are named one by one, under the same address', () => {
    expect(
      doorsFor(['127.0.0.1:5432', '127.0.0.9:80', '[::1]:6379', '10.1.2.3:80', '127.0.0.0/8:81']),
    ).toEqual([
      '127.0.0.1:3128 proxy',
      '127.0.0.1:5432 127.0.0.1:5432',
      '127.0.0.9:80 127.0.0.9:80 http',
      '::1:6379 ::1:6379',
    ]);
  });

  test('of names stand at no address that the list names itself', () => {
    expect(doorsFor(['a.test:443', 'b.test:443', '127.0.1.1:443', '127.0.1.3:80'])).toEqual([
      '127.0.0.1:3128 proxy',
      '127.0.1.1:443 127.0.1.1:443',
      '127.0.1.3:80 127.0.1.3:80 http',
      '127.0.1.2:443 a.test:443',
      '127.0.1.4:443 b.test:443',
    ]);
    expect(namesFor(['a.test:443', '127.0.1.1:443'])).toEqual(['127.0.1.2 a.test']);
  });

  test('leave the proxy a port of its own', () => {
    expect(doorsFor(['127.0.0.1:3128', '127.0.0.1:3129'])[0]).toBe('127.0.0.1:3130 proxy');
  });

  test('are not made for wildcards, ranges and denying entries: those have the proxy', () => {
    expect(doorsFor(['*.example.com', '10.0.0.0/8', '!a.example.com'])).toEqual(['127.0.0.1:3128 proxy']);
  });

  test('are not made for names where names lead nowhere', () => {
    expect(doorsFor(['a.test', '127.0.0.1:80'], false)).toEqual([
      '127.0.0.1:3128 proxy',
      '127.0.0.1:80 127.0.0.1:80 http',
    ]);
  });

  test('are no more than the launcher makes, and a name has all of its doors or none', () => {
    const entries = Array.from({ length: 200 }, (_, index) => `h${index}.test`);
    const doors = doorsFor(entries);
    const names = namesFor(entries);
    expect(doors).toHaveLength(63);
    expect(names).toHaveLength(31);
    for (const name of names) {
      const [address] = name.split(' ');
      expect(doors.filter((door) => door.startsWith(`${address}:`))).toHaveLength(2);
    }
  });
});

test('the words of the launcher have brackets around IPv6 and the descriptor at the end', () => {
  const plan = planNetwork({ egress: 'strict', egressHosts: ['[::1]:80', 'a.test:81'] }, true);
  if (plan === null) throw new Error('there is no network');
  expect(networkWords(plan, () => 9)).toEqual([
    'net=1',
    'listen=127.0.0.1:3128',
    'listen=[::1]:80',
    'listen=127.0.1.1:81',
    'handles=9',
  ]);
});

/** The variables of a strict run with these entries. */
function variablesFor(entries: readonly string[], pass = SAMPLE_PASS) {
  const terms = { egress: 'strict', egressHosts: entries } as const;
  return networkVariables(terms, planNetwork(terms, true), pass);
}

describe('a run without a network', () => {
  test('has package managers that give up at once and not after a minute', () => {
    expect(variablesFor([])).toMatchObject({ npm_config_fetch_retries: '0', PIP_RETRIES: '1' });
    expect(variablesFor(['a.test'])).not.toHaveProperty('npm_config_fetch_retries');
  });

  test('has no such variables where it shares the network of the host', () => {
    expect(networkVariables({ egress: 'none' }, null, SAMPLE_PASS)).toEqual({});
  });
});

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
