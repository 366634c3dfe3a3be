import { describe, expect, test } from 'vitest';
import { ALL_SCOPES } from '../../src/core/caller.ts';
import { makeAuthenticator } from '../../src/identity/authenticate.ts';
import type { Minting } from '../../src/identity/tokens.ts';
import { mintToken, withdrawToken } from '../../src/invoke/tokens.ts';
import type { Reader } from '../../src/store/transaction.ts';
import { ADA, GRACE, NOON, openTestGateway, type TestGateway, testClock } from '../fixture/gateway.ts';
import { openDoor, startIssuer, verdictOf } from './issuer.ts';

const DAY_MS = 86_400_000;
const CI = { kind: 'service', name: 'ci' } as const;

const mint = (gateway: TestGateway, wishes: Partial<Minting> = {}) =>
  mintToken(gateway, GRACE, {
    ...{ principal: ADA, tenant: 'acme', scopes: ['call', 'read'], label: '' },
    ...{ expiresAtMs: NOON + DAY_MS, held: new Set(ALL_SCOPES), ...wishes },
  });

async function openOwn() {
  const clock = testClock();
  const gateway = await openTestGateway({ clock });
  const told: string[] = [];
  const log = (level: string, event: string, facts: unknown) =>
    void told.push(`${level} ${event} ${JSON.stringify(facts)}`);
  const authenticate = makeAuthenticator({
    ...{ reader: gateway.store, config: gateway.config, clock, log },
  });
  const enter = (authorization: string | null) => authenticate({ authorization });
  return { gateway, clock, told, enter };
}

describe('the authenticator', () => {
  test.each<[string, Partial<Minting>, unknown]>([
    ['a person with the scope approve', { principal: GRACE, scopes: ['call', 'approve'] }, GRACE],
    ['a person without it', { principal: GRACE, scopes: ['call'] }, null],
    ['a service with it', { principal: CI, scopes: ['call', 'approve'] }, null],
    ['an agent', {}, null],
  ])('lets a question be answered over the token of %s: %o %o', async (_, wishes, approver) => {
    const { gateway, enter } = await openOwn();
    const { token } = await mint(gateway, wishes);
    expect(await enter(`Bearer ${token}`)).toMatchObject({ ok: true, caller: { approver } });
  });

  test('takes a token of ours for its principal, at once and until it is revoked', async () => {
    const { gateway, clock, enter } = await openOwn();
    const { token, about } = await mint(gateway);
    clock.add(5);
    expect(await enter(`Bearer ${token}`)).toEqual({
      ok: true,
      caller: {
        ...{ principal: ADA, tenant: 'acme', scopes: new Set(['call', 'read']), approver: null },
        credential: `token:${about.id}`,
      },
    });
    await withdrawToken(gateway, GRACE, { id: about.id, tenant: 'acme' });
    expect(await enter(`Bearer ${token}`)).toEqual({
      ...{ ok: false, reason: 'revoked' },
      message: 'Cannot authenticate: the token was revoked, expected one that is valid now',
    });
  });

  test('tells of the end of a token', async () => {
    const { gateway, clock, enter } = await openOwn();
    const { token } = await mint(gateway);
    clock.add(DAY_MS);
    expect(await enter(`Bearer ${token}`)).toEqual({
      ...{ ok: false, reason: 'expired' },
      message: 'Cannot authenticate: the token has expired, expected one that is valid now',
    });
  });

  test('says the same of everything that is wrong, and tells the log what it was without a part of it', async () => {
    const { gateway, told, enter } = await openOwn();
    const { token } = await mint(gateway);
    const wrong = [
      '',
      'Basic YTpi',
      `Bearer ${token}x`,
      `Bearer ${token.slice(0, -2)}AA`,
      'Bearer a.b.c',
      `Bearer ${'a'.repeat(10_000)}`,
    ];
    const answers = await Promise.all(wrong.map(enter));
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set([
        '{"ok":false,"reason":"invalid","message":"Cannot authenticate: the credential is not valid here, expected a valid token"}',
      ]),
    );
    expect(told).toEqual(
      ['header', 'header', 'token-invalid', 'token-invalid', 'unknown-kind', 'header'].map(
        (why) => `debug credential-refused {"why":"${why}"}`,
      ),
    );
    expect(verdictOf(await enter(null))).toBe('missing');
    expect(verdictOf(await enter(`Bearer ${token}`))).toBe('ok');
  });

  test('does not take a token of an issuer where none is named', async () => {
    const issuer = await startIssuer();
    const token = await issuer.sign();
    expect(verdictOf(await openDoor(issuer)(token))).toBe('ok');
    expect(verdictOf(await openDoor(null)(token))).toBe('invalid');
  });

  test('takes nothing and does not throw when the store cannot be read', async () => {
    const { gateway, enter } = await openOwn();
    const { token } = await mint(gateway);
    expect(verdictOf(await enter(`Bearer ${token}`))).toBe('ok');
    const broken: Reader = {
      all: () => [],
      get: () => {
        throw new TypeError(`Cannot read ${token}`);
      },
    };
    const told: string[] = [];
    const door = openDoor(null, {
      reader: broken,
      log: (...words) => void told.push(JSON.stringify(words)),
    });
    expect(verdictOf(await door(token))).toBe('invalid');
    expect(told).toEqual(['["error","credential-unchecked",{"error":"TypeError"}]']);
  });

  test('goes on with tokens of ours while the issuer is gone', async () => {
    const { gateway } = await openOwn();
    const { token } = await mint(gateway);
    const issuer = await startIssuer();
    issuer.pages.clear();
    const door = openDoor(issuer, { reader: gateway.store });
    expect(verdictOf(await door(await issuer.sign()))).toBe('invalid');
    expect(verdictOf(await door(token))).toBe('ok');
  });

  test('is not made for an issuer whose keys would come over an open line', () => {
    expect(() => openDoor({ url: 'http://id.example.com' })).toThrow(/^Cannot use oauth\.issuer: /);
  });
});
