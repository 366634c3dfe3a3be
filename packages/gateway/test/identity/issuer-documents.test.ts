import { describe, expect, test } from 'vitest';
import type { OauthConfig } from '../../src/config/config.ts';
import type { Lookup } from '../../src/egress/resolve.ts';
import { documentFetcher, type FetchDocument } from '../../src/identity/issuer-documents.ts';
import { findKeys, metadataUrls } from '../../src/identity/issuer-keys.ts';
import { type Issuer, issuerOf, readKeyUrl } from '../../src/identity/issuer-url.ts';
import { type Pages, startPages } from './issuer.ts';

const CLOCK = { nowMs: () => 0, monotonicMs: () => 0 };

function settings(wishes: Partial<OauthConfig>): OauthConfig {
  const { issuer = 'https://id.example.com', audience = 'here', jwksUrl = null } = wishes;
  const claims = { tenantClaim: null, deviceClaim: null, channelClaim: null };
  return { issuer, audience, jwksUrl, principalKind: 'agent', principalClaim: 'sub', ...claims };
}

function newIssuer(wishes: Partial<OauthConfig>): Issuer {
  const issuer = issuerOf(settings(wishes));
  if (issuer === null) throw new TypeError('Cannot make the issuer');
  return issuer;
}

function fetchAt(text: string, isNamed: boolean, answers: readonly string[] = []) {
  const asked: string[] = [];
  const lookup: Lookup = async (name) => {
    asked.push(name);
    return answers;
  };
  const at = readKeyUrl(text);
  if (at === null) throw new TypeError('Cannot read the URL');
  return documentFetcher({ clock: CLOCK, lookup })(at, isNamed).then((result) => ({ result, asked }));
}

describe('issuerOf()', () => {
  test('is null without an issuer', () => {
    expect(issuerOf({ ...settings({}), issuer: null })).toBeNull();
  });

  test.each([
    'https://id.example.com',
    'https://id.example.com:8443/realms/a',
    'https://10.1.2.3',
    'http://127.0.0.1:8080',
    'http://127.9.9.9',
    'http://[::1]:8080/x',
    'http://localhost:8080',
  ])('takes keys from %s', (issuer) => {
    expect(newIssuer({ issuer }).at.text).toBe(issuer);
    expect(newIssuer({ jwksUrl: issuer }).jwksUrl?.text).toBe(issuer);
  });

  test.each([
    'http://id.example.com',
    'http://10.1.2.3',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'http://0.0.0.0:8080',
    'http://[::ffff:10.1.2.3]',
    'https://user@id.example.com',
    'https://id.example.com/#a',
    'ftp://id.example.com',
  ])('refuses to take keys from %s', (url) => {
    expect(() => newIssuer({ issuer: url })).toThrow(
      /^Cannot use oauth\.issuer: .*, expected an address with https/,
    );
    expect(() => newIssuer({ jwksUrl: url })).toThrow(/^Cannot use oauth\.jwks_url: /);
  });

  test('refuses an issuer without an audience', () => {
    expect(() => issuerOf({ ...settings({}), audience: null })).toThrow(
      /^Cannot use oauth\.audience: it is missing/,
    );
  });
});

describe('metadataUrls()', () => {
  test.each([
    [
      'https://id.example.com',
      [
        'https://id.example.com/.well-known/oauth-authorization-server',
        'https://id.example.com/.well-known/openid-configuration',
      ],
    ],
    [
      'https://id.example.com/',
      [
        'https://id.example.com/.well-known/oauth-authorization-server',
        'https://id.example.com/.well-known/openid-configuration',
      ],
    ],
    [
      'https://id.example.com/realms/a',
      [
        'https://id.example.com/.well-known/oauth-authorization-server/realms/a',
        'https://id.example.com/.well-known/openid-configuration/realms/a',
        'https://id.example.com/realms/a/.well-known/openid-configuration',
      ],
    ],
  ])('of %s are %j', (issuer, urls) => {
    expect(metadataUrls(issuer)).toEqual(urls);
  });
});

describe('findKeys()', () => {
  type Asked = { readonly url: string; readonly isNamed: boolean };

  /** An issuer whose documents are these, and what was asked for. */
  function serve(documents: Readonly<Record<string, unknown>>) {
    const asked: Asked[] = [];
    const fetch: FetchDocument = async ({ text }, isNamed) => {
      asked.push({ url: text, isNamed });
      const document = documents[text];
      if (document === undefined) return { ok: false, problem: `Cannot read "${text}"` };
      return { ok: true, value: JSON.parse(JSON.stringify(document)) };
    };
    return { fetch, asked };
  }
  const issuer = 'https://id.example.com/realms/a';
  const [, , oidc = ''] = metadataUrls(issuer);

  test('goes where the operator says, and nowhere else', async () => {
    const { fetch, asked } = serve({ 'https://keys.example.com/k': { keys: [] } });
    const found = await findKeys(newIssuer({ issuer, jwksUrl: 'https://keys.example.com/k' }), fetch);
    expect(found).toEqual({ ok: true, value: { keys: [] } });
    expect(asked).toEqual([{ url: 'https://keys.example.com/k', isNamed: true }]);
  });

  test('goes where the metadata says, which may name another host but opens no private address there', async () => {
    const { fetch, asked } = serve({
      [oidc]: { issuer, jwks_uri: 'https://keys.example.net/k' },
      'https://keys.example.net/k': { keys: [1] },
    });
    expect(await findKeys(newIssuer({ issuer }), fetch)).toEqual({ ok: true, value: { keys: [1] } });
    expect(asked.map(({ isNamed }) => isNamed)).toEqual([true, true, true, false]);
  });

  test('keeps the reach of the operator on the host of the issuer', async () => {
    const { fetch, asked } = serve({
      [oidc]: { issuer, jwks_uri: 'https://id.example.com:8443/k' },
      'https://id.example.com:8443/k': { keys: [1] },
    });
    expect((await findKeys(newIssuer({ issuer }), fetch)).ok).toBe(true);
    expect(asked.at(-1)).toEqual({ url: 'https://id.example.com:8443/k', isNamed: true });
  });

  test.each([
    [
      'of another issuer',
      { issuer: 'https://id.example.com/realms/b', jwks_uri: 'https://id.example.com/k' },
    ],
    ['of nobody', { jwks_uri: 'https://id.example.com/k' }],
    ['without keys', { issuer }],
    ['with keys over http', { issuer, jwks_uri: 'http://id.example.com/k' }],
    ['with keys in a file', { issuer, jwks_uri: 'file:///etc/passwd' }],
    ['with keys that are no text', { issuer, jwks_uri: ['https://id.example.com/k'] }],
    ['that is a list', [issuer]],
  ])('refuses metadata %s', async (_, metadata) => {
    const { fetch, asked } = serve({ [oidc]: metadata, 'https://id.example.com/k': { keys: [1] } });
    expect((await findKeys(newIssuer({ issuer }), fetch)).ok).toBe(false);
    expect(asked.map(({ url }) => url)).toEqual(metadataUrls(issuer));
  });
});

describe('documentFetcher()', () => {
  test('reads a document of a private host that the operator named, looking its name up once', async () => {
    const { origin } = await startPages(new Map([['/jwks', '{"keys":[]}']]));
    const at = readKeyUrl(`${origin}/jwks`);
    expect(at).not.toBeNull();
    const { result, asked } = await fetchAt(`${origin}/jwks`, true);
    expect(result).toEqual({ ok: true, value: { keys: [] } });
    expect(asked).toEqual([]);
  });

  test('does not go to this machine for a host that only a document named', async () => {
    const { origin, asked } = await startPages(new Map([['/jwks', '{"keys":[]}']]));
    const { result } = await fetchAt(`${origin}/jwks`, false);
    expect(result).toMatchObject({
      ok: false,
      problem: expect.stringContaining('expected a place that tokens may come from'),
    });
    expect(asked).toEqual([]);
  });

  test('means this machine by localhost, and asks no name server about it', async () => {
    const { origin } = await startPages(new Map([['/jwks', '[1]']]));
    const { result, asked } = await fetchAt(`${origin.replace('127.0.0.1', 'localhost')}/jwks`, true, [
      '192.0.2.1',
    ]);
    expect(result).toEqual({ ok: true, value: [1] });
    expect(asked).toEqual([]);
  });

  test.each(['169.254.169.254', 'fd00:ec2::254', '169.254.1.1', '0.0.0.0', '224.0.0.1'])(
    'does not go to %s, even for a host that the operator named',
    async (address) => {
      const { result, asked } = await fetchAt('https://id.example.com/jwks', true, [address]);
      expect(result).toMatchObject({
        ok: false,
        problem: expect.stringContaining('expected a place that tokens may come from'),
      });
      expect(asked).toEqual(['id.example.com']);
    },
  );

  test.each(['https://169.254.169.254/jwks', 'https://[fe80::1]/jwks'])(
    'does not go to %s, even where the operator named it',
    async (url) => {
      const { result } = await fetchAt(url, true);
      expect(result).toMatchObject({ ok: false, problem: expect.stringContaining('expected a place') });
    },
  );

  test('tries a private address of a named host, and refuses the same of another', async () => {
    const named = await fetchAt('https://id.example.com:1/jwks', true, ['127.0.0.1']);
    expect(named.result).toMatchObject({ ok: false, problem: expect.stringContaining('ECONNREFUSED') });
    const other = await fetchAt('https://id.example.com:1/jwks', false, ['127.0.0.1']);
    expect(other.result).toMatchObject({
      ok: false,
      problem: expect.stringContaining('expected a place that tokens may come from'),
    });
  });

  test.each([
    ['another status', ['/jwks', (_, response) => response.writeHead(500).end('{"keys":[]}')], 'status 500'],
    [
      'a redirect',
      ['/jwks', (_, response) => response.writeHead(302, { location: '/there' }).end()],
      'status 302',
    ],
    ['what is no JSON', ['/jwks', 'keys'], 'expected'],
    ['a key twice', ['/jwks', '{"keys":[],"keys":[]}'], 'keys'],
    ['a depth without end', ['/jwks', '['.repeat(100) + ']'.repeat(100)], 'expected'],
    ['more than 256 KiB', ['/jwks', `"${'a'.repeat(262_144)}"`], 'too long'],
  ] as readonly (readonly [string, [string, Pages extends Map<string, infer V> ? V : never], string])[])(
    'refuses %s',
    async (_, page, why) => {
      const { origin, asked } = await startPages(new Map([page, ['/there', '{"keys":[]}']]));
      const { result } = await fetchAt(`${origin}/jwks`, true);
      expect(result).toMatchObject({ ok: false, problem: expect.stringContaining(why) });
      expect(asked).toEqual(['/jwks']);
    },
  );
});
