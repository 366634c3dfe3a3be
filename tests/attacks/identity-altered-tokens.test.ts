import { describe, expect, test } from 'vitest';
import { ALL_SCOPES } from '../../packages/gateway/src/core/caller.ts';
import { makeAuthenticator } from '../../packages/gateway/src/identity/authenticate.ts';
import { verifyToken } from '../../packages/gateway/src/identity/tokens.ts';
import { mintToken, withdrawToken } from '../../packages/gateway/src/invoke/tokens.ts';
import {
  ADA,
  GRACE,
  NOON,
  openTestGateway,
  type TestGateway,
  testClock,
} from '../../packages/gateway/test/fixture/gateway.ts';
import { openDoor, startIssuer, verdictOf } from '../../packages/gateway/test/identity/issuer.ts';
import { readDigest, writeColumn } from '../../packages/gateway/test/identity/rows.ts';

/* Somebody has a token of another gateway, of another time, or a part of one, and tries what can be made of it. */

const HOUR_MS = 3_600_000;

async function mint(gateway: TestGateway, principal = ADA): Promise<{ token: string; id: string }> {
  const { token, about } = await mintToken(gateway, GRACE, {
    ...{ principal, tenant: 'default', scopes: ['call'], label: '' },
    ...{ expiresAtMs: NOON + HOUR_MS, held: new Set(ALL_SCOPES) },
  });
  return { token, id: about.id };
}

function doorOf({ store, config, clock }: TestGateway) {
  const authenticate = makeAuthenticator({ reader: store, config, clock });
  return async (token: string) => verdictOf(await authenticate({ authorization: `Bearer ${token}` }));
}

describe('a token', () => {
  test('of another gateway lets nobody in, nor its secret under a name of this one', async () => {
    const [here, there] = [await openTestGateway(), await openTestGateway()];
    const [ours, theirs] = [await mint(here), await mint(there)];
    expect([await doorOf(here)(theirs.token), await doorOf(there)(ours.token)]).toEqual([
      'invalid',
      'invalid',
    ]);
    expect(await doorOf(here)(ours.token.slice(0, 30) + theirs.token.slice(30))).toBe('invalid');
    expect(await doorOf(here)(theirs.token.slice(0, 30) + ours.token.slice(30))).toBe('invalid');
    expect([await doorOf(here)(ours.token), await doorOf(there)(theirs.token)]).toEqual(['ok', 'ok']);
  });

  test('that was revoked by another process lets nobody in from the next request on', async () => {
    const here = await openTestGateway();
    const { token, id } = await mint(here);
    const enter = doorOf(here);
    for (let i = 0; i < 100; i++) expect(await enter(token)).toBe('ok');
    const other = await openTestGateway({ stateDir: here.stateDir });
    await withdrawToken(other, GRACE, { id, tenant: null });
    expect(await enter(token)).toBe('revoked');
  });

  test('that has ended lets nobody in, and a clock that goes back does not bring back one that was revoked', async () => {
    const clock = testClock();
    const gateway = await openTestGateway({ clock });
    const [ended, revoked] = [await mint(gateway), await mint(gateway)];
    const enter = doorOf(gateway);
    expect([await enter(ended.token), await enter(revoked.token)]).toEqual(['ok', 'ok']);
    await withdrawToken(gateway, GRACE, { id: revoked.id, tenant: null });
    clock.add(HOUR_MS);
    expect([await enter(ended.token), await enter(revoked.token)]).toEqual(['expired', 'revoked']);
    clock.set(NOON - HOUR_MS);
    expect(await enter(revoked.token)).toBe('revoked');
  });

  test('that was cut, lengthened or changed in one character lets nobody in', async () => {
    const gateway = await openTestGateway();
    const { token } = await mint(gateway);
    const enter = doorOf(gateway);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const changed = [...token].map(
      (char, i) => token.slice(0, i) + (char === 'a' ? 'b' : 'a') + token.slice(i + 1),
    );
    const lastChanged = [...alphabet]
      .map((char) => token.slice(0, -1) + char)
      .filter((each) => each !== token);
    const cut = Array.from({ length: token.length - 1 }, (_, i) => token.slice(0, i + 1));
    const longer = ['A', '=', '_', token].map((end) => token + end);
    const swapped = [token.toUpperCase(), token.toLowerCase(), token.slice(1), `pls_${token}`];
    for (const near of [...changed, ...lastChanged, ...cut, ...longer, ...swapped])
      expect([near, await enter(near)]).toEqual([near, 'invalid']);
    expect(await enter(token)).toBe('ok');
  });

  test('is reported as revoked or expired only to a caller that has its secret', async () => {
    const gateway = await openTestGateway();
    const { token, id } = await mint(gateway);
    await withdrawToken(gateway, GRACE, { id, tenant: null });
    const guess = `${token.slice(0, 30)}${'A'.repeat(43)}`;
    const nobody = `pls_${'0'.repeat(25)}_${'A'.repeat(43)}`;
    expect(verifyToken(gateway.store, guess, NOON)).toEqual(verifyToken(gateway.store, nobody, NOON));
    expect(await doorOf(gateway)(token)).toBe('revoked');
  });

  test('cannot be made of what the database has of it', async () => {
    const gateway = await openTestGateway();
    const { token, id } = await mint(gateway);
    const bytes = Buffer.from(readDigest(gateway.stateDir, id), 'hex');
    expect(bytes).toHaveLength(32);
    expect(await doorOf(gateway)(`${token.slice(0, 30)}${bytes.toString('base64url')}`)).toBe('invalid');
    expect(await doorOf(gateway)(token)).toBe('ok');
  });

  test('of an agent stays narrow when somebody writes more scopes into its row, and is nobody’s without a name', async () => {
    const gateway = await openTestGateway();
    const { token, id } = await mint(gateway);
    const write = (column: string, value: string) => writeColumn(gateway.stateDir, id, column, value);
    write('scopes', 'call read admin approve __proto__ toString');
    const verified = verifyToken(gateway.store, token, NOON);
    expect(verified.ok ? verified.token.scopes : verified).toEqual(['call', 'read']);
    write('approver', 'user:grace');
    const { store: reader, config, clock } = gateway;
    const enter = makeAuthenticator({ reader, config, clock });
    expect(await enter({ authorization: `Bearer ${token}` })).toMatchObject({
      ok: true,
      caller: { principal: ADA, approver: null },
    });
    write('principal', 'root');
    expect(await doorOf(gateway)(token)).toBe('invalid');
  });

  test('that begins like ours is never shown to the issuer’s rules, nor one of the issuer to ours', async () => {
    const issuer = await startIssuer();
    const enter = openDoor(issuer);
    const token = await issuer.sign();
    expect(verdictOf(await enter(`pls_${token}`))).toBe('invalid');
    expect(issuer.asked).toEqual([]);
    expect(verdictOf(await enter(token))).toBe('ok');
    expect(issuer.asked).not.toEqual([]);
  });
});
