import { describe, expect, test } from 'vitest';
import { ALL_SCOPES, type Scope } from '../../src/core/caller.ts';
import type { Principal } from '../../src/core/principal.ts';
import { listTokens } from '../../src/identity/tokens.ts';
import { type Held, mintToken, withdrawToken } from '../../src/invoke/tokens.ts';
import {
  ADA,
  bodyOf,
  GRACE,
  NOON,
  openTestGateway,
  recordsOf,
  type TestGateway,
} from '../fixture/gateway.ts';

const DAY_MS = 86_400_000;
const CI: Principal = { kind: 'service', name: 'ci' };

const WISHES = {
  ...{ principal: CI, tenant: 'acme', scopes: ['call', 'skills'] as readonly Scope[] },
  ...{ label: 'of the builds', expiresAtMs: NOON + DAY_MS, held: new Set(ALL_SCOPES) },
};

const holding = (...scopes: Scope[]): Held => ({ held: new Set(scopes) });
const idsOf = ({ store }: TestGateway) => listTokens(store, { after: null, limit: 10 }).map(({ id }) => id);
const lastOf = (gateway: TestGateway) => recordsOf(gateway).at(-1);

describe('mintToken()', () => {
  test('makes a token and records who did, for whom and what for', async () => {
    const gateway = await openTestGateway();
    const { token, about } = await mintToken(gateway, GRACE, WISHES);
    expect(token).toMatch(/^pls_/);
    expect(idsOf(gateway)).toEqual([about.id]);
    const record = lastOf(gateway);
    expect(record).toMatchObject({ kind: 'token-created', principal: 'user:grace', tenant: 'acme' });
    expect(bodyOf(record)).toEqual({
      ...{ token: about.id, for: 'service:ci', scopes: ['call', 'skills'] },
      ...{ label: 'of the builds', expiresAt: '2026-05-02T12:00:00.000Z' },
    });
  });

  test.each([ADA, CI])('refuses where the policies do not let $kind:$name administer', async (by) => {
    const gateway = await openTestGateway();
    await expect(mintToken(gateway, by, WISHES)).rejects.toMatchObject({ code: 'policy/denied' });
    expect(idsOf(gateway)).toEqual([]);
    expect(recordsOf(gateway).map(({ kind }) => kind)).not.toContain('token-created');
  });

  test('asks the policies about the tenant that the token is for', async () => {
    const policies =
      '@id("acme") permit(principal is User, action == Action::"administer", resource == Tenant::"acme");\n';
    const gateway = await openTestGateway({ policies });
    await expect(mintToken(gateway, GRACE, { ...WISHES, tenant: 'other' })).rejects.toMatchObject({
      code: 'policy/denied',
    });
    const { about } = await mintToken(gateway, GRACE, WISHES);
    expect(idsOf(gateway)).toEqual([about.id]);
  });

  test.each([
    ['a scope that it lacks', holding('call', 'admin')],
    ['anything without a scope', holding()],
  ])('does not let a credential give %s', async (_, held) => {
    const gateway = await openTestGateway();
    await expect(mintToken(gateway, GRACE, { ...WISHES, ...held })).rejects.toMatchObject({
      code: 'door/insufficient-scope',
    });
    expect(idsOf(gateway)).toEqual([]);
  });

  test('lets a credential give what it has', async () => {
    const gateway = await openTestGateway();
    const { about } = await mintToken(gateway, GRACE, {
      ...WISHES,
      ...holding('call', 'skills', 'admin'),
    });
    expect(about.scopes).toEqual(['call', 'skills']);
  });
});

describe('withdrawToken()', () => {
  test('revokes a token and records it once', async () => {
    const gateway = await openTestGateway();
    const { about } = await mintToken(gateway, GRACE, WISHES);
    const requested = { id: about.id, tenant: 'acme' };
    const first = await withdrawToken(gateway, GRACE, requested);
    expect(first).toEqual({ ...about, revokedAtMs: NOON, revokedBy: 'user:grace' });
    expect(lastOf(gateway)).toMatchObject({ kind: 'token-revoked', principal: 'user:grace', tenant: 'acme' });
    expect(bodyOf(lastOf(gateway))).toEqual({ token: about.id, for: 'service:ci' });
    expect(await withdrawToken(gateway, { kind: 'user', name: 'eve' }, requested)).toEqual(first);
    expect(recordsOf(gateway).filter(({ kind }) => kind === 'token-revoked')).toHaveLength(1);
  });

  test('refuses where the policies do not permit it, and the token stays', async () => {
    const gateway = await openTestGateway();
    const { about } = await mintToken(gateway, GRACE, WISHES);
    await expect(withdrawToken(gateway, ADA, { id: about.id, tenant: null })).rejects.toMatchObject({
      code: 'policy/denied',
    });
    expect(listTokens(gateway.store, { after: null, limit: 1 })[0]?.revokedAtMs).toBeNull();
  });

  test('does not know tokens of other tenants', async () => {
    const gateway = await openTestGateway();
    const { about } = await mintToken(gateway, GRACE, WISHES);
    const refused = withdrawToken(gateway, GRACE, { id: about.id, tenant: 'other' });
    await expect(refused).rejects.toMatchObject({
      code: 'token/unknown',
      message: `Cannot find the token "${about.id}": there is none of that id`,
    });
    await expect(withdrawToken(gateway, GRACE, { id: 'tok_none', tenant: null })).rejects.toMatchObject({
      code: 'token/unknown',
    });
  });

  test('does not repeat a token that was given in place of its id', async () => {
    const gateway = await openTestGateway();
    const { token } = await mintToken(gateway, GRACE, WISHES);
    await expect(withdrawToken(gateway, GRACE, { id: token, tenant: null })).rejects.toMatchObject({
      code: 'token/unknown',
      message: 'Cannot find the token that was given: there is none of that id',
      remedy: 'Give the id: tok_ and the 25 characters behind pls_.',
    });
  });
});
