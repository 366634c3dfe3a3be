import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import { IssuerKeys } from '../../src/identity/issuer-keys.ts';
import { newKey } from './issuer.ts';

const MINUTE_MS = 60_000;

/** Keys whose issuer answers what a test says, on a clock that a test sets. */
function openKeys(first: Json) {
  const state = { nowMs: 0, asked: 0, answer: first as Json | null };
  const told: string[] = [];
  const keys = new IssuerKeys({
    load: async () => {
      state.asked += 1;
      await Promise.resolve();
      return state.answer === null ? { ok: false, problem: 'gone' } : { ok: true, value: state.answer };
    },
    clock: { nowMs: () => 0, monotonicMs: () => state.nowMs },
    log: (level, event) => told.push(`${level} ${event}`),
  });
  const finds = async (kid: string) => {
    const find = await keys.for({ alg: 'ES256', kid });
    if (find === null) return null;
    return find({ alg: 'ES256', kid }).then(
      () => true,
      () => false,
    );
  };
  return { state, keys, finds, told };
}

async function documentOf(...kids: readonly string[]): Promise<Json> {
  const keys = await Promise.all(kids.map(async (kid) => (await newKey(kid)).publicJwk));
  return JSON.parse(JSON.stringify({ keys })) as Json;
}

describe('IssuerKeys', () => {
  test('asks once for all who wait, and not again while its keys are fresh', async () => {
    const { state, finds } = openKeys(await documentOf('a'));
    expect(await Promise.all([finds('a'), finds('a'), finds('b')])).toEqual([true, true, false]);
    state.nowMs = 5 * MINUTE_MS - 1;
    expect(await finds('a')).toBe(true);
    expect(state.asked).toBe(1);
    state.nowMs = 5 * MINUTE_MS;
    expect(await finds('a')).toBe(true);
    expect(state.asked).toBe(2);
  });

  test('finds a new key of the issuer half a minute later at the latest', async () => {
    const { state, finds } = openKeys(await documentOf('a'));
    expect(await finds('a')).toBe(true);
    state.answer = await documentOf('b');
    state.nowMs = 29_999;
    expect(await finds('b')).toBe(false);
    state.nowMs = 30_000;
    expect(await finds('b')).toBe(true);
    expect(await finds('a')).toBe(false);
  });

  test('asks at most twice a minute, however many unknown keys are named', async () => {
    const { state, finds } = openKeys(await documentOf('a'));
    for (let i = 0; i < 600; i++) {
      state.nowMs = i * 100;
      expect(await finds(`made-up-${i}`)).toBe(false);
    }
    expect(state.asked).toBe(2);
    expect(await finds('a')).toBe(true);
  });

  test('goes on with its keys for an hour when the issuer is gone, and then with none', async () => {
    const { state, finds, told } = openKeys(await documentOf('a'));
    expect(await finds('a')).toBe(true);
    state.answer = null;
    state.nowMs = 60 * MINUTE_MS - 1;
    expect(await finds('a')).toBe(true);
    state.nowMs = 60 * MINUTE_MS;
    expect(await finds('a')).toBeNull();
    expect(told).toEqual(['debug issuer-keys-read', 'warn issuer-keys-unread']);
    state.answer = await documentOf('a');
    state.nowMs = 61 * MINUTE_MS;
    expect(await finds('a')).toBe(true);
  });

  test('does not lose good keys to a document without any', async () => {
    const { state, finds } = openKeys(await documentOf('a'));
    expect(await finds('a')).toBe(true);
    for (const answer of [{}, { keys: [] }, { keys: 'a' }, [], null, 'keys'] as readonly Json[]) {
      state.answer = answer;
      state.nowMs += 6 * MINUTE_MS;
      expect(await finds('a')).toBe(true);
    }
    expect(state.asked).toBe(7);
  });

  test.each([
    ['a shared secret', { kty: 'oct', k: 'c2VjcmV0' }],
    ['a private key', { d: 'AAAA' }],
    ['a key to encrypt with', { use: 'enc' }],
    ['a key of another algorithm', { alg: 'RS256' }],
    ['a key of a kind that is no text', { kty: 7 }],
  ])('does not verify with %s', async (_, change) => {
    const jwk = { ...(await newKey('b')).publicJwk, ...change };
    const other = (await newKey('a')).publicJwk;
    const { finds } = openKeys(JSON.parse(JSON.stringify({ keys: [other, jwk, null, 7, []] })) as Json);
    expect(await finds('a')).toBe(true);
    expect(await finds('b')).toBe(false);
  });

  test('looks at the first 64 keys of a document', async () => {
    const { publicJwk } = await newKey('k');
    const keys = Array.from({ length: 65 }, (_, i) => ({ ...publicJwk, kid: `k${i}` }));
    const { finds } = openKeys(JSON.parse(JSON.stringify({ keys })) as Json);
    expect([await finds('k63'), await finds('k64')]).toEqual([true, false]);
  });
});
