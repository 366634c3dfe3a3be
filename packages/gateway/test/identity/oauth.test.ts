import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import { ALGORITHMS } from '../../src/identity/oauth.ts';
import { NOON } from '../fixture/gateway.ts';
import { AUDIENCE, newKey, openDoor, startIssuer, verdictOf } from './issuer.ts';

const NOW_S = NOON / 1000;

describe('a token of the issuer', () => {
  test('is the subject that it names, good for calling', async () => {
    const issuer = await startIssuer();
    const enter = openDoor(issuer, { tenant: 'acme' });
    expect(await enter(await issuer.sign())).toEqual({
      ok: true,
      caller: {
        ...{ principal: { kind: 'agent', name: 'ada' }, tenant: 'acme', scopes: new Set(['call']) },
        ...{ credential: 'oauth:acme/agent:ada', approver: null },
      },
    });
  });

  test('is on the device and the channel of its claims, where the operator named these', async () => {
    const issuer = await startIssuer();
    const claims = { device: 'build-7', client: 'nightly' };
    const plain = await openDoor(issuer)(await issuer.sign(claims));
    expect(plain.ok && [plain.caller.device, plain.caller.channel]).toEqual([undefined, undefined]);
    const enter = openDoor(issuer, { deviceClaim: 'device', channelClaim: 'client' });
    const placed = await enter(await issuer.sign(claims));
    expect(placed.ok && placed.caller).toMatchObject({ device: 'build-7', channel: 'nightly' });
    const bare = await enter(await issuer.sign());
    expect(bare.ok && Object.keys(bare.caller)).not.toContain('device');
    for (const odd of [{ device: '' }, { device: 7 }, { device: null }, { client: 'a b' }, { client: 'mcp' }])
      expect(verdictOf(await enter(await issuer.sign(odd)))).toBe('invalid');
  });

  test.each(ALGORITHMS)('is taken when it is signed with %s', async (alg) => {
    const issuer = await startIssuer(alg);
    const enter = openDoor(issuer);
    expect(verdictOf(await enter(await issuer.sign()))).toBe('ok');
    // The same signature under another message is worth nothing.
    const [head, , signature] = (await issuer.sign()).split('.');
    const [, claims] = (await issuer.sign({ sub: 'grace' })).split('.');
    expect(verdictOf(await enter([head, claims, signature].join('.')))).toBe('invalid');
  });

  test.each([
    ['at+jwt', 'ok'],
    ['AT+JWT', 'ok'],
    ['application/at+jwt', 'ok'],
    ['JWT', 'ok'],
    ['jwt', 'ok'],
    ['id_token+jwt', 'invalid'],
    ['dpop+jwt', 'invalid'],
    ['logout+jwt', 'invalid'],
    ['', 'invalid'],
    [undefined, 'invalid'],
  ])('of the type %j is %s', async (typ, verdict) => {
    const issuer = await startIssuer();
    expect(verdictOf(await openDoor(issuer)(await issuer.sign({}, { typ })))).toBe(verdict);
  });

  test.each([
    [undefined, ['call']],
    ['', ['call']],
    ['openid profile', ['call']],
    ['read', ['read']],
    ['openid palisade:call palisade:read', ['call', 'read']],
    ['palisade:everything', ['call']],
    ['palisade:palisade:admin', ['call']],
    ['call,admin', ['call']],
    [['admin'], ['call']],
    [{ admin: true }, ['call']],
    ['admin approve policy', ['approve', 'policy', 'admin']],
  ])('with the scope %j is good for %j', async (scope, scopes) => {
    const issuer = await startIssuer();
    const answer = await openDoor(issuer, { principalKind: 'user' })(await issuer.sign({ scope }));
    expect(answer.ok ? [...answer.caller.scopes] : answer).toEqual(scopes);
  });

  test('of an agent is good for calling and reading at most', async () => {
    const issuer = await startIssuer();
    const scope = 'call read approve skills policy secrets admin';
    const answer = await openDoor(issuer)(await issuer.sign({ scope }));
    expect(answer.ok ? [...answer.caller.scopes] : answer).toEqual(['call', 'read']);
  });

  test.each([
    [{ aud: ['https://other.example.com', AUDIENCE] }, 'ok'],
    [{ aud: [] }, 'invalid'],
    [{ exp: NOW_S - 9 }, 'ok'],
    [{ exp: NOW_S - 10 }, 'expired'],
    [{ nbf: NOW_S + 10 }, 'ok'],
    [{ nbf: NOW_S + 11 }, 'invalid'],
    [{ nbf: 'now' }, 'invalid'],
    [{ exp: undefined }, 'invalid'],
    [{ exp: '9999999999' }, 'invalid'],
  ])('that says %j is %s', async (claims, verdict) => {
    const issuer = await startIssuer();
    expect(verdictOf(await openDoor(issuer)(await issuer.sign(claims)))).toBe(verdict);
  });

  test('names principal and tenant by the claims that the operator chose', async () => {
    const issuer = await startIssuer();
    const wishes = { principalKind: 'service', principalClaim: 'client_id', tenantClaim: 'org' } as const;
    const enter = openDoor(issuer, wishes);
    const answer = await enter(await issuer.sign({ client_id: 'ci', org: 'acme', tenant: 'other' }));
    expect(answer).toMatchObject({
      caller: { principal: { kind: 'service', name: 'ci' }, tenant: 'acme' },
    });
    for (const claims of [{ client_id: 'ci' }, { org: 'acme' }, { client_id: 'ci', org: 'a b' }])
      expect(verdictOf(await enter(await issuer.sign(claims)))).toBe('invalid');
  });

  test.each(['user:grace', '', 'a b', 'auth0|5f7c', 'a'.repeat(129), 7, null, ['ada'], undefined])(
    'with the subject %j names nobody',
    async (sub) => {
      const issuer = await startIssuer();
      expect(verdictOf(await openDoor(issuer)(await issuer.sign({ sub })))).toBe('invalid');
    },
  );

  test('needs no key id where the issuer has one key, and one where it has more', async () => {
    const issuer = await startIssuer();
    const bare = await issuer.sign({}, { kid: undefined });
    expect(verdictOf(await openDoor(issuer)(bare))).toBe('ok');
    issuer.serveKeys([issuer.key.publicJwk, (await newKey('key-2')).publicJwk]);
    expect(verdictOf(await openDoor(issuer)(bare))).toBe('invalid');
    expect(verdictOf(await openDoor(issuer)(await issuer.sign()))).toBe('ok');
  });

  test('is checked whatever is made of it, and never throws', async () => {
    const issuer = await startIssuer();
    const enter = openDoor(issuer);
    const good = await issuer.sign();
    const headers = fc
      .json()
      .map((json) => `${Buffer.from(json).toString('base64url')}.${good.split('.').slice(1).join('.')}`);
    const cuts = fc
      .tuple(fc.nat(good.length), fc.string({ maxLength: 4 }), fc.nat(4))
      .map(([at, text, cut]) => good.slice(0, at) + text + good.slice(at + cut));
    const texts = fc.oneof(fc.string({ unit: CHARACTER }), headers, cuts);
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        expect(verdictOf(await enter(text))).toBe(text === good ? 'ok' : 'invalid');
      }),
      { numRuns: volume(500, 30) },
    );
  });
});
