import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newAuthority } from '../../src/egress/tls/certificate.ts';
import { documentFetcher } from '../../src/identity/issuer-documents.ts';
import { readKeyUrl } from '../../src/identity/issuer-url.ts';
import { hostOf } from '../egress/sample.ts';

const AUTHORITY = newAuthority({
  ...{ nowMs: Date.now(), name: 'Test', serial: () => randomBytes(16), lifeMs: 86_400_000 },
});

/** A site that proves to be this host, asked for by the name of the issuer. */
async function askAs(host: string, trust: string | undefined) {
  const { keyPem: key, certificatePem: cert } = AUTHORITY.leafFor(hostOf(host));
  const seen: string[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    seen.push(request.headers.host ?? '');
    response.end('{"keys":[]}');
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const at = readKeyUrl(`https://id.example.com:${port}/jwks`);
  if (at === null) throw new TypeError('Cannot read the URL');
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const lookup = async () => ['127.0.0.1'];
  const result = await documentFetcher({ clock, lookup, ...(trust === undefined ? {} : { trust }) })(
    at,
    true,
  );
  return { result, seen };
}

describe('documentFetcher() over https', () => {
  test('reads a document of a host that proves to be the issuer', async () => {
    const { result, seen } = await askAs('id.example.com', AUTHORITY.certificatePem);
    expect(result).toEqual({ ok: true, value: { keys: [] } });
    expect(seen).toHaveLength(1);
  });

  test.each([
    ['a host that proves to be another', 'evil.example.com', AUTHORITY.certificatePem],
    ['a host for which nobody vouches', 'id.example.com', undefined],
  ])('reads nothing of %s', async (_, host, trust) => {
    const { result, seen } = await askAs(host, trust);
    expect(result.ok).toBe(false);
    expect(seen).toEqual([]);
  });
});
