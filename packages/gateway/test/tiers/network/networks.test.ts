import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ProcessTerms } from '../../../src/core/process.ts';
import { parseAllowList } from '../../../src/egress/allowlist.ts';
import { type NetworkOptions, type NetworkWish, openNetworks } from '../../../src/tiers/network/networks.ts';
import { planNetwork } from '../../../src/tiers/network/plan.ts';
import { sampleTerms } from '../terms.ts';

const ENTRIES = ['a.test:81'];
const LOOK_EVERY_MS = 1_000;

function options(more: Partial<NetworkOptions> = {}): NetworkOptions {
  const parsed = parseAllowList(ENTRIES);
  if (!parsed.ok) throw new Error('the list cannot be read');
  return {
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
    random: { bytes: (count) => randomBytes(count) },
    newLookup: () => async () => [],
    own: () => ({ addresses: [], ports: new Set() }),
    hosts: () => parsed.value,
    refresh: async () => undefined,
    isIntercepted: () => false,
    systemCertificates: () => '',
    secrets: new Map(),
    vaultSecret: async () => null,
    lookEveryMs: LOOK_EVERY_MS,
    ...more,
  };
}

function wish(mayGoOn: NetworkWish['mayGoOn'], more: Partial<ProcessTerms> = {}): NetworkWish {
  return {
    terms: sampleTerms({ egress: 'strict', egressHosts: ENTRIES, ...more }),
    runner: { tenant: 'default', principal: { kind: 'user', name: 'tester' }, id: 'call_1', tool: 'run' },
    egressBytes: 1_000,
    mayGoOn,
  };
}

async function makeNetwork(mayGoOn: NetworkWish['mayGoOn']) {
  const network = await openNetworks(options()).make(wish(mayGoOn));
  const plan = planNetwork({ egress: 'strict', egressHosts: ENTRIES }, false);
  if (network === null || plan === null) throw new Error('there is no network');
  return { ...network, begin: () => network.serve(plan, []) };
}

describe('the network of a run', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  test('is looked at when it begins and then again and again, until it is closed', async () => {
    const mayGoOn = vi.fn(() => true);
    const network = await makeNetwork(mayGoOn);
    expect(mayGoOn).not.toHaveBeenCalled();
    await network.begin();
    expect(mayGoOn).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(2 * LOOK_EVERY_MS);
    expect(mayGoOn).toHaveBeenCalledTimes(3);
    network.close();
    vi.advanceTimersByTime(10 * LOOK_EVERY_MS);
    expect(mayGoOn).toHaveBeenCalledTimes(3);
  });

  test('leaves no timer behind when its run had to begin twice', async () => {
    const network = await makeNetwork(() => true);
    await network.begin();
    await network.begin();
    expect(vi.getTimerCount()).toBe(1);
    network.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is over, and the gateway is not, when nobody can tell what the policies say', async () => {
    const mayGoOn = vi.fn<() => boolean>(() => true);
    const network = await makeNetwork(mayGoOn);
    await network.begin();
    mayGoOn.mockImplementation(() => {
      throw new Error('the store is closed');
    });
    expect(() => vi.advanceTimersByTime(LOOK_EVERY_MS)).not.toThrow();
    expect(mayGoOn).toHaveBeenCalledTimes(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a secret of the vault', () => {
  const secrets: NetworkOptions['secrets'] = new Map([
    ['api', { name: 'api', variable: 'API', isFor: () => true, read: null }],
  ]);
  const make = (value: string | null) =>
    openNetworks(options({ secrets, vaultSecret: async () => value })).make(
      wish(() => true, { secrets: ['api'] }),
    );

  test('stands behind a placeholder in its variable', async () => {
    const network = await make('the value');
    expect(network?.pass.placeholders).toEqual({ API: expect.stringMatching(/^palisade-secret-[0-9a-f]+$/) });
    network?.close();
  });

  test.each([
    ['is not there', null, 'vault/missing', 'the vault lacks a secret'],
    ['has a line break', 'the value\nX: y', 'config/invalid', 'it has a line break'],
    ['is empty', '', 'config/invalid', 'it is empty'],
  ])('that %s is refused with a code of its own, and nothing of it is told', async (_, value, code, why) => {
    await expect(make(value)).rejects.toMatchObject({ code, message: expect.stringContaining(why) });
    await expect(make(value)).rejects.not.toMatchObject({ message: expect.stringContaining('the value') });
  });
});
