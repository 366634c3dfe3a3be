import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseRegistry, type RegistryHost } from '../../src/oci/reference.ts';
import { RegistrySession, type SessionTerms } from '../../src/oci/session.ts';
import { settingsOf } from '../../src/oci/settings.ts';
import { hostOf } from '../egress/sample.ts';
import { authorityOf } from '../egress/tls/authorities.ts';

const AUTHORITY = authorityOf({});
const NAME = 'registry.example.com';

/** A registry with TLS that proves to be this host, and what it was asked. */
async function startSecure(host = NAME) {
  const { keyPem: key, certificatePem: cert } = AUTHORITY.leafFor(hostOf(host));
  const asked: string[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end('{}');
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, port: (server.address() as AddressInfo).port };
}

function registryOf(text: string): RegistryHost {
  const parsed = parseRegistry(text);
  if (!parsed.ok) throw new TypeError(parsed.problem.is);
  return parsed.value;
}

function ask(text: string, terms: Partial<SessionTerms> = {}) {
  const registry = registryOf(text);
  const session = new RegistrySession({
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
    lookup: async () => ['127.0.0.1'],
    ...{ registry, settings: settingsOf(null, registry), act: 'try', login: async () => null },
    signal: new AbortController().signal,
    ...terms,
  });
  const request = { method: 'GET', at: '/v2/', scope: 'registry:catalog:*' } as const;
  return session.request(request, [200]).then(
    ({ status }) => String(status),
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );
}

describe('RegistrySession', () => {
  test('reaches a registry by TLS, if it proves to be the host that was named', async () => {
    const { port, asked } = await startSecure();
    expect(await ask(`${NAME}:${port}`, { trust: AUTHORITY.certificatePem })).toBe('200');
    expect(asked).toEqual(['GET /v2/']);
  });

  test.each([
    ['proves to be another host', 'evil.example.com', { trust: AUTHORITY.certificatePem }, 'another host'],
    ['no trusted authority vouches for', NAME, {}, 'Cannot trust target'],
  ])('asks nothing of a host that %s', async (_, host, terms, why) => {
    const { port, asked } = await startSecure(host);
    const ending = await ask(`${NAME}:${port}`, terms);
    expect(ending).toMatch(/^oci\/failed: /);
    expect(ending).toContain(why);
    expect(asked).toEqual([]);
  });

  test.each(['169.254.169.254', 'fe80::1', '0.0.0.0', '224.0.0.1'])(
    'never connects to %s, whatever name leads there',
    async (address) => {
      expect(await ask(`${NAME}:5000`, { lookup: async () => [address] })).toMatch(/^oci\/not-allowed: /);
      const literal = address.includes(':') ? `[${address}]:5000` : `${address}:5000`;
      expect(await ask(literal)).toMatch(/^oci\/not-allowed: /);
    },
  );

  test('ends when its command is cancelled', async () => {
    const cancelled = 'tier/cancelled: Cannot try: it was cancelled';
    expect(await ask(`${NAME}:5000`, { signal: AbortSignal.abort() })).toBe(cancelled);
    const stop = new AbortController();
    const lookup = async () => {
      stop.abort();
      return ['127.0.0.1'];
    };
    expect(await ask(`${NAME}:5000`, { signal: stop.signal, lookup })).toBe(cancelled);
  });
});

describe('settingsOf()', () => {
  test.each([
    ['ghcr.io', 'oci.ghcr.io'],
    ['localhost:5000', 'oci.localhost-5000'],
    ['[::1]:5000', 'oci.__1-5000'],
    [`${'a'.repeat(60)}.example.com`, /^oci\.[0-9a-f]{32}$/],
  ])('names the secret of %s so that no other registry has it', (text, secret) => {
    const registry = registryOf(text);
    expect(settingsOf(null, registry).secret).toMatch(secret);
  });

  test('has what the operator configured', () => {
    const rule = {
      name: 'a.example',
      scheme: 'http',
      secret: 's',
      tokenHosts: ['B.example'],
      blobHosts: [],
    } as const;
    const settings = settingsOf(rule, registryOf('a.example'));
    expect(settings).toEqual({ scheme: 'http', secret: 's', tokenHosts: ['b.example'], blobHosts: [] });
  });
});
