import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import { DEFAULT_LIMITS, LIMIT_CEILINGS } from '../../src/core/limits.ts';
import { parseAllowList } from '../../src/egress/allowlist.ts';
import { processTool } from '../../src/registry/process-tool.ts';
import { Registry } from '../../src/registry/registry.ts';
import { Schemas } from '../../src/registry/schema.ts';
import { grantSecrets } from '../../src/runner/secrets.ts';
import { ADA, NOON } from '../fixture/gateway.ts';
import { makeHost } from '../runner/sample.ts';

const SECRET = { name: 'github', variable: 'TOKEN', hosts: ['a.example'], file: '/nowhere/token' };

/** Checks a command as a call of an agent would be checked. */
async function check(input: Json) {
  const list = parseAllowList(['a.example', 'b.example']);
  if (!list.ok) throw new Error('the list cannot be read');
  const { settings, deps } = makeHost({ egressHosts: list.value, secrets: grantSecrets([SECRET]) });
  const registry = new Registry({
    tools: [
      processTool(
        () => settings,
        () => deps,
      ),
    ],
    input: { maxBytes: 131_072, maxDepth: 64 },
    limits: DEFAULT_LIMITS,
    ceilings: LIMIT_CEILINGS,
    loadSchemas: async () => new Schemas(),
  });
  const tool = 'palisade.process.run';
  const about = { id: 'call_1', principal: ADA, tenant: 'default', run: null, door: 'test', tool };
  const call = {
    ...about,
    rawInput: JSON.stringify(input),
    timeoutMs: null,
    source: null,
    receivedAtMs: NOON,
  };
  return registry.check(call);
}

describe('palisade.process.run', () => {
  it('takes what a call may reach and the secrets that it uses into the terms', async () => {
    const command = { command: 'true', egress_hosts: ['a.example'], secrets: ['github'] };
    expect(await check(command)).toMatchObject({
      process: { terms: { egress: 'strict', egressHosts: ['a.example'], secrets: ['github'] } },
    });
    expect(await check({ command: 'true' })).toMatchObject({
      process: { terms: { egressHosts: ['a.example', 'b.example'], secrets: [] } },
    });
  });

  it.each<[string, Json, object]>([
    [
      'an entry that cannot be read',
      { egress_hosts: ['a.example', '*'] },
      { code: 'registry/invalid-input', message: expect.stringContaining('egress_hosts[1]') },
    ],
    [
      'an entry that denies',
      { egress_hosts: ['!a.example'] },
      { code: 'registry/invalid-input', message: expect.stringContaining('without "!"') },
    ],
    [
      'secrets that nothing would hold',
      { secrets: ['github'], egress: 'none' },
      { code: 'registry/invalid-input', remedy: expect.stringContaining('Leave out secrets') },
    ],
    [
      'a secret that is not known',
      { secrets: ['gitlab'] },
      { code: 'runner/egress-denied', remedy: expect.stringContaining('[[secret]]') },
    ],
    [
      '65 entries',
      { egress_hosts: Array.from({ length: 65 }, () => 'a.example') },
      { code: 'registry/invalid-input' },
    ],
  ])('refuses %s, and nothing is thrown', async (_, wish, expected) => {
    expect(await check({ command: 'true', ...(wish as object) })).toMatchObject({
      status: 'refused',
      ...expected,
    });
  });
});
