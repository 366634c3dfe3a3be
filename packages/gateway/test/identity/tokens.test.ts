import { describe, expect, onTestFinished, test } from 'vitest';
import { ALL_SCOPES, type Scope } from '../../src/core/caller.ts';
import type { Principal } from '../../src/core/principal.ts';
import {
  createToken,
  findToken,
  identityMigrations,
  listTokens,
  type Minting,
  revokeToken,
  stateOf,
  verifyToken,
} from '../../src/identity/tokens.ts';
import { systemRandom } from '../../src/open.ts';
import { Store } from '../../src/store/store.ts';
import { ADA, GRACE, NOON } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const DAY_MS = 86_400_000;
const CI: Principal = { kind: 'service', name: 'ci' };

function openStore(): Store {
  const store = new Store({
    ...{ directory: tempDir(), migrations: identityMigrations, busyTimeoutMs: 1_000, nowMs: NOON },
  });
  onTestFinished(() => store.close());
  return store;
}

function create(store: Store, wishes: Partial<Minting> = {}) {
  const minting = {
    ...{ principal: ADA, tenant: 'default', scopes: ['call'] as readonly Scope[] },
    ...{ expiresAtMs: NOON + DAY_MS, label: '', ...wishes },
  };
  return store.transact((tx) => createToken(tx, { ...minting, by: GRACE, nowMs: NOON }, systemRandom));
}

describe('a token', () => {
  test('is its principal, with what it was made for', () => {
    const store = openStore();
    const wishes = { scopes: ['read', 'call', 'read'], label: 'at work' } as const;
    const { id, token } = create(store, wishes);
    expect(id).toMatch(/^tok_[0-9a-z]{25}$/);
    expect(token).toMatch(/^pls_[0-9a-z]{25}_[A-Za-z0-9_-]{43}$/);
    const verified = verifyToken(store, token, NOON);
    expect(verified).toEqual({
      ok: true,
      token: {
        ...{ id, principal: ADA, tenant: 'default', scopes: ['call', 'read'] },
        ...{ label: 'at work', createdAtMs: NOON, createdBy: 'user:grace', expiresAtMs: NOON + DAY_MS },
        ...{ revokedAtMs: null, revokedBy: null, device: null, channel: null, sessions: 0 },
      },
    });
  });

  test('is good until the very millisecond of its end', () => {
    const store = openStore();
    const { id, token } = create(store);
    expect(verifyToken(store, token, NOON + DAY_MS - 1).ok).toBe(true);
    expect(verifyToken(store, token, NOON + DAY_MS)).toEqual({ ok: false, reason: 'expired' });
    const found = findToken(store, id);
    expect(found === null ? null : stateOf(found, NOON + DAY_MS)).toBe('expired');
  });

  test('is revoked once and for good', () => {
    const store = openStore();
    const { id, token } = create(store);
    expect(store.transact((tx) => revokeToken(tx, id, GRACE, NOON + 1))).toBe(true);
    expect(store.transact((tx) => revokeToken(tx, id, CI, NOON + 2))).toBe(false);
    expect(verifyToken(store, token, NOON)).toEqual({ ok: false, reason: 'revoked' });
    expect(findToken(store, id)).toMatchObject({ revokedAtMs: NOON + 1, revokedBy: 'user:grace' });
    expect(store.transact((tx) => revokeToken(tx, `tok_${'0'.repeat(25)}`, GRACE, NOON))).toBe(false);
  });

  test('is not given away by a secret of another token', () => {
    const store = openStore();
    const [a, b] = [create(store), create(store, { principal: GRACE })];
    const swapped = b.token.slice(0, 30) + a.token.slice(30);
    expect(verifyToken(store, swapped, NOON)).toEqual({ ok: false, reason: 'invalid' });
    expect(verifyToken(store, b.token, NOON).ok).toBe(true);
  });
});

describe('createToken()', () => {
  test.each([
    ['an agent that would approve', { scopes: ['call', 'approve'] }],
    ['an agent that would administer', { scopes: ['admin'] }],
    ['no scope', { scopes: [] }],
    ['an end in the past', { expiresAtMs: NOON }],
    ['an end in more than 366 days', { expiresAtMs: NOON + 366 * DAY_MS + 1 }],
    ['no end', { expiresAtMs: Number.POSITIVE_INFINITY }],
    ['an end that is no number', { expiresAtMs: Number.NaN }],
    ['a tenant that is no name', { tenant: 'a b' }],
    ['a principal that is no name', { principal: { kind: 'agent', name: 'a:b' } }],
    ['a label of two lines', { label: 'a\nb' }],
    ['a label that is too long', { label: 'a'.repeat(129) }],
    ['a label with a token', { label: `pls_${'0'.repeat(25)}_x` }],
  ] as readonly (readonly [string, Partial<Minting>])[])('refuses %s', (_, wishes) => {
    const store = openStore();
    expect(() => create(store, wishes)).toThrow(/^Cannot make the token: .*, expected /);
    expect(listTokens(store, { after: null, limit: 10 })).toEqual([]);
  });

  test.each([
    ['agent', ['call', 'read']],
    ['user', ALL_SCOPES],
    ['service', ALL_SCOPES],
  ] as const)('lets %s have %j and nothing else', (kind, scopes) => {
    const store = openStore();
    const allowed = ALL_SCOPES.filter((scope) => {
      try {
        create(store, { principal: { kind, name: 'x' }, scopes: [scope] });
        return true;
      } catch {
        return false;
      }
    });
    expect(allowed).toEqual(scopes);
  });

  test('takes a life of 366 days', () => {
    expect(create(openStore(), { expiresAtMs: NOON + 366 * DAY_MS }).id).toMatch(/^tok_/);
  });
});

describe('listTokens()', () => {
  test('gives pages, the newest first, of one tenant or of all', () => {
    const store = openStore();
    const tenants = ['acme', 'acme', 'other', 'acme'];
    const ids = tenants.map((tenant) => create(store, { tenant }).id).toReversed();
    const pageOf = (after: string | null, tenant: string | null = null) =>
      listTokens(store, { tenant, after, limit: 2 }).map(({ id }) => id);
    expect(pageOf(null)).toEqual(ids.slice(0, 2));
    expect(pageOf(ids[1] ?? '')).toEqual(ids.slice(2));
    expect(pageOf(ids[3] ?? '')).toEqual([]);
    expect(pageOf(null, 'acme')).toEqual([ids[0], ids[2]]);
    expect(pageOf(ids[2] ?? '', 'acme')).toEqual([ids[3]]);
    expect(pageOf('tok_unknown')).toEqual([]);
    expect(pageOf(null, 'nobody')).toEqual([]);
  });
});
