import { describe, expect, test } from 'vitest';
import type { WasmGrants } from '../../src/core/wasm.ts';
import {
  CAPABILITIES,
  capabilitiesOf,
  openGrants,
  usableGrants,
} from '../../src/skills/capabilities/kinds.ts';
import { grantsOfModule, reachOf } from '../../src/skills/reach.ts';
import { ABI_FUNCTIONS } from '../../src/tiers/a-wasm/engine/abi.table.ts';

const WHOLE: WasmGrants = {
  http: ['api.example.com:443', null],
  secrets: [{ name: 'token', mayReveal: true, hosts: ['api.example.com'] }],
  storage: [{ read: ['notes/'], write: ['notes/'] }],
  channels: [{ name: 'news', publish: true, receive: true }],
  ...{ log: true, clock: true, random: true, config: { unit: 'm' } },
};
const ALL = ABI_FUNCTIONS.map(({ name }) => name);
const usedBy = (...imports: readonly string[]) => capabilitiesOf(openGrants(usableGrants(WHOLE, imports)));

describe('usableGrants()', () => {
  test('leaves everything to a module that imports every function, and nothing to one that imports none', () => {
    expect(usableGrants(WHOLE, ALL)).toEqual(WHOLE);
    expect(usedBy()).toEqual([]);
    const unneeded = ABI_FUNCTIONS.filter(({ needs }) => needs === null).map(({ name }) => name);
    expect(usedBy(...unneeded)).toEqual([]);
  });

  test.each(ABI_FUNCTIONS.filter(({ needs }) => needs !== null))(
    'leaves to an import of $name what it needs, and no other kind but a secret that a request sends',
    ({ name, needs }) => {
      const kinds = usedBy(name).filter((kind) => kind !== 'secret:reveal');
      expect(kinds).toEqual(name === 'http_request' ? ['http', 'secret'] : [needs]);
      expect(Object.keys(CAPABILITIES)).toContain(needs);
    },
  );

  test('leaves one direction where only that is imported', () => {
    expect(usableGrants(WHOLE, ['storage_list']).storage).toEqual([{ read: ['notes/'], write: [] }]);
    expect(usableGrants(WHOLE, ['storage_delete']).storage).toEqual([{ read: [], write: ['notes/'] }]);
    expect(usableGrants(WHOLE, ['channel_receive']).channels).toEqual([
      { name: 'news', publish: false, receive: true },
    ]);
    expect(usableGrants(WHOLE, ['http_request']).secrets[0]).toMatchObject({ mayReveal: false });
    expect(usableGrants(WHOLE, ['secret_read']).secrets[0]).toMatchObject({ mayReveal: true, hosts: [] });
  });

  test('keeps every position, so that a handle never means another capability', () => {
    const { http, secrets, storage, channels } = usableGrants(WHOLE, []);
    expect([http, secrets, storage, channels].map(({ length }) => length)).toEqual([2, 1, 1, 1]);
  });

  test('leaves everything where nothing is known of the imports', () => {
    expect(usableGrants(WHOLE, null)).toBe(WHOLE);
  });
});

describe('the reach of a tool', () => {
  const grant = { wasm: WHOLE, limits: {} };
  const modules = [
    { path: 'plain.wasm', imports: ['log'] },
    { path: 'fetch.wasm', imports: ['http_request'] },
    { path: 'odd.wasm', imports: null },
  ];
  const reach = (module: string, risk: 'low' | 'high' = 'low') => reachOf({ module, risk }, grant, modules);

  test('is that of its own module, whatever the others of the skill are granted', () => {
    expect(reach('plain.wasm')).toEqual({ risk: 'low', capabilities: ['log'], hosts: [] });
    expect(reach('fetch.wasm')).toEqual({
      ...{ risk: 'medium', capabilities: ['http', 'secret'], hosts: ['api.example.com'] },
    });
  });

  test('is the whole grant where the module could not be read, is not in the report, or there is no report', () => {
    const whole = capabilitiesOf(openGrants(WHOLE));
    expect(reach('odd.wasm').capabilities).toEqual(whole);
    expect(reach('unknown.wasm').capabilities).toEqual(whole);
    expect(grantsOfModule(WHOLE, 'plain.wasm', undefined)).toBe(WHOLE);
  });

  test('never lowers the risk that the manifest declares', () => {
    expect(reach('plain.wasm', 'high').risk).toBe('high');
  });
});
