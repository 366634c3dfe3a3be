import { describe, expect, test } from 'vitest';
import { resourceMetadata } from '../../src/identity/resource-metadata.ts';
import { openTestGateway } from '../fixture/gateway.ts';

const SCOPES = ['call', 'read', 'approve', 'skills', 'policy', 'secrets', 'admin'];

describe('resourceMetadata()', () => {
  test('names the resource and no issuer where there is none', async () => {
    const { config } = await openTestGateway();
    expect(resourceMetadata(config, 'http://127.0.0.1:7433/')).toEqual({
      resource: 'http://127.0.0.1:7433',
      resource_name: 'Palisade',
      scopes_supported: SCOPES.map((scope) => `palisade:${scope}`),
      bearer_methods_supported: ['header'],
    });
  });

  test.each([
    ['https://gate.example.com', 'http://127.0.0.1:7433/mcp', 'https://gate.example.com/mcp'],
    ['https://gate.example.com/', 'http://127.0.0.1:7433/', 'https://gate.example.com'],
    ['https://example.com/gate', 'http://127.0.0.1:7433/mcp/', 'https://example.com/gate/mcp'],
    ['https://example.com/gate', 'https://example.com/gate/', 'https://example.com/gate'],
    ['https://example.com/gate', 'https://example.com/gate/mcp', 'https://example.com/gate/mcp'],
    ['https://example.com/gate', 'http://127.0.0.1:7433/?a=b', 'https://example.com/gate'],
  ])('of a gateway that is known as %s and asked at %s is of %s', async (publicUrl, url, resource) => {
    const toml = `[http]\npublic_url = "${publicUrl}"\n[oauth]\nissuer = "https://id.example.com/"\naudience = "a"\n`;
    const { config } = await openTestGateway({ toml });
    expect(resourceMetadata(config, url)).toMatchObject({
      ...{ resource, authorization_servers: ['https://id.example.com/'] },
    });
  });
});
