import { describe, expect, test } from 'vitest';
import { ALL_SCOPES, type Caller } from '../../packages/gateway/src/core/caller.ts';
import { makeAuthenticator, type Presented } from '../../packages/gateway/src/identity/authenticate.ts';
import { mintToken } from '../../packages/gateway/src/invoke/tokens.ts';
import {
  ADA,
  callTool,
  GRACE,
  makeTool,
  NOON,
  openTestGateway,
  recordsOf,
  type TestGateway,
} from '../../packages/gateway/test/fixture/gateway.ts';
import { openDoor, startIssuer } from '../../packages/gateway/test/identity/issuer.ts';

/* Somebody has a good credential of their own and says in other places that they are somebody else. */

const POLICIES = '@id("grace-alone") permit(principal == User::"grace", action, resource);\n';
/** Every place of an input in which a caller could write who they are. */
const CLAIMED = {
  principal: 'user:grace',
  tenant: 'acme',
  as: 'user:grace',
  approver: 'user:grace',
  _meta: { principal: 'user:grace', 'palisade/principal': 'user:grace', authorization: 'Bearer x' },
  caller: { principal: { kind: 'user', name: 'grace' }, scopes: ['admin'] },
};

async function openWorld() {
  const tool = makeTool('test.any', async () => 'done');
  const gateway = await openTestGateway({ policies: POLICIES, tools: [tool] });
  const authenticate = makeAuthenticator({
    ...{ reader: gateway.store, config: gateway.config, clock: gateway.clock },
  });
  const callerOf = async (presented: Presented): Promise<Caller> => {
    const answer = await authenticate(presented);
    if (!answer.ok) throw new TypeError(answer.message);
    return answer.caller;
  };
  return { gateway, callerOf };
}

async function tokenOf(gateway: TestGateway, principal: typeof ADA): Promise<string> {
  const { token } = await mintToken(gateway, GRACE, {
    ...{ principal, tenant: 'default', scopes: ['call'], label: '' },
    ...{ expiresAtMs: NOON + 1_000, held: new Set(ALL_SCOPES) },
  });
  return token;
}

describe('a caller that claims to be another principal', () => {
  test('in the input of a call is judged and recorded as who the credential says', async () => {
    const { gateway, callerOf } = await openWorld();
    const ada = await callerOf({ authorization: `Bearer ${await tokenOf(gateway, ADA)}` });
    const grace = await callerOf({ authorization: `Bearer ${await tokenOf(gateway, GRACE)}` });
    const call = ({ principal, tenant }: Caller) =>
      callTool(gateway, 'test.any', { principal, tenant, input: CLAIMED });
    const refused = await call(ada);
    expect(refused.outcome).toMatchObject({ code: 'policy/denied' });
    const last = recordsOf(gateway).at(-1);
    expect(last).toMatchObject({ kind: 'refused', principal: 'agent:ada', tenant: 'default' });
    // The same call of the one whom the policy means goes through.
    expect((await call(grace)).outcome).toMatchObject({ status: 'ok', output: 'done' });
    expect(recordsOf(gateway).at(-1)).toMatchObject({ kind: 'ended', principal: 'user:grace' });
  });

  test('beside the credential is who the credential says', async () => {
    const { gateway, callerOf } = await openWorld();
    const authorization = `Bearer ${await tokenOf(gateway, ADA)}`;
    const presented = { authorization, ...CLAIMED, 'palisade-as': 'user:grace' } as Presented;
    expect(await callerOf(presented)).toMatchObject({ principal: ADA, tenant: 'default', approver: null });
    await expect(callerOf({ ...presented, authorization: null })).rejects.toThrow('has no credential');
  });

  test.each([
    ['a kind in the subject', { sub: 'user:grace' }],
    ['a path in the subject', { sub: '../grace' }],
    ['look-alikes of letters', { sub: 'grаce' }],
    ['an invisible character', { sub: 'grace\u200b' }],
    ['a line end', { sub: 'grace\n' }],
  ])('by %s of a token of the issuer is nobody', async (_, claims) => {
    const issuer = await startIssuer();
    const enter = openDoor(issuer);
    expect(await enter(await issuer.sign(claims))).toMatchObject({ ok: false, reason: 'invalid' });
    expect(await enter(await issuer.sign({ sub: 'grace' }))).toMatchObject({ ok: true });
  });

  test('by claims that nobody asked for is who the subject says, as an agent of our tenant', async () => {
    const issuer = await startIssuer();
    const claims = {
      ...CLAIMED,
      kind: 'user',
      org: 'acme',
      scopes: ['admin'],
      scp: 'admin',
      roles: ['admin'],
    };
    const answer = await openDoor(issuer)(await issuer.sign({ ...claims, act: { sub: 'grace' } }));
    expect(answer).toEqual({
      ok: true,
      caller: {
        ...{ principal: ADA, tenant: 'default', scopes: new Set(['call']), approver: null },
        credential: 'oauth:default/agent:ada',
      },
    });
  });
});
