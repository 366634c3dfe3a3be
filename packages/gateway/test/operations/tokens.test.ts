import { describe, expect, test } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { verifyToken } from '../../src/identity/tokens.ts';
import { localOwner } from '../../src/operations/access.ts';
import { recordsOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, callerOf, type Document } from './ask.ts';
import { ada, grace, mary, openFixture, otherGrace } from './fixture.ts';

const tokens = (gateway: TestGateway) => ({
  create: (as: Caller, body: unknown) => ask(gateway, 'createToken', { as, body }),
  list: (as: Caller, query: Record<string, string> = {}) => ask(gateway, 'listTokens', { as, query }),
  revoke: (as: Caller, id: string) => ask(gateway, 'revokeToken', { as, params: { id } }),
});

describe('POST /v1/tokens', () => {
  test('makes a token that is good, is told once and is recorded without itself', async () => {
    const { gateway } = await openFixture();
    const { create, list } = tokens(gateway);
    const wanted = {
      principal: 'agent:ada',
      scopes: ['call', 'read'],
      label: 'ada at work',
    };
    const { status, body } = await create(grace, wanted);
    expect(status).toBe(201);
    expect(body).toMatchObject({ ...wanted, tenant: 'default', state: 'active', createdBy: 'user:grace' });
    const verified = verifyToken(gateway.store, body.token, gateway.clock.nowMs());
    expect(verified).toMatchObject({ ok: true, token: { id: body.id, tenant: 'default' } });
    const reported = JSON.stringify([(await list(grace)).body, recordsOf(gateway)]);
    expect(reported).toContain(body.id);
    expect(reported).not.toContain(body.token.slice(-43));
  });

  test('is for a month and for calls where nothing else is said', async () => {
    const { gateway } = await openFixture();
    const { body } = await tokens(gateway).create(grace, { principal: 'service:ci' });
    expect(body).toMatchObject({ scopes: ['call'], label: '' });
    expect(Date.parse(body.expiresAt) - gateway.clock.nowMs()).toBe(30 * 86_400_000);
  });

  test('is listed by tenant for the owner alone', async () => {
    const { gateway } = await openFixture();
    const { create, list } = tokens(gateway);
    const theirs = (await create(otherGrace, { principal: 'agent:x' })).body.id;
    const ours = (await create(grace, { principal: 'agent:x' })).body.id;
    const owner = localOwner(grace.principal, 'default');
    const idsOf = async (as: Caller, query: Record<string, string>) =>
      (await list(as, query)).body.tokens.map(({ id }: Document) => id);
    expect((await idsOf(owner, {})).sort()).toEqual([theirs, ours].sort());
    expect(await idsOf(owner, { tenant: 'acme' })).toEqual([theirs]);
    expect(await idsOf(grace, { tenant: 'default' })).toEqual([ours]);
    expect(await idsOf(grace, { tenant: 'acme' })).toEqual([]);
  });

  test('stays in the tenant of who asks', async () => {
    const { gateway } = await openFixture();
    const { create } = tokens(gateway);
    expect((await create(otherGrace, { principal: 'agent:x' })).body.tenant).toBe('acme');
    expect((await create(grace, { principal: 'agent:x', tenant: 'acme' })).status).toBe(400);
  });

  test.each([
    ['the policies do not let administer', mary, ['call'], 403, 'policy/denied'],
    ['is an agent', callerOf(ada.principal), ['call'], 403, 'policy/denied'],
    [
      'has no credential for it',
      callerOf(grace.principal, ['call']),
      ['call'],
      403,
      'door/insufficient-scope',
    ],
    [
      'wants more than its own credential',
      callerOf(grace.principal, ['admin', 'call']),
      ['policy'],
      403,
      'door/insufficient-scope',
    ],
  ])('is refused to who %s', async (_, as, scopes, status, code) => {
    const { gateway } = await openFixture();
    const { create, list } = tokens(gateway);
    const refused = await create(as, { principal: 'user:x', scopes });
    expect([refused.status, refused.body.code]).toEqual([status, code]);
    expect((await list(grace)).body.tokens).toEqual([]);
  });

  test.each([
    ['no principal', {}],
    ['a principal of no kind', { principal: 'root' }],
    ['a scope that there is not', { principal: 'user:x', scopes: ['all'] }],
    ['no scope', { principal: 'user:x', scopes: [] }],
    ['a scope that no agent has', { principal: 'agent:x', scopes: ['approve'] }],
    ['an approver', { principal: 'agent:x', approver: 'user:mary' }],
    ['an end in the past', { principal: 'user:x', expiresAt: '2001-01-01T00:00:00Z' }],
    ['an end in a far future', { principal: 'user:x', expiresAt: '2999-01-01T00:00:00Z' }],
    ['an end that is no time', { principal: 'user:x', expiresAt: 'tomorrow' }],
    ['a label of two lines', { principal: 'user:x', label: 'a\nb' }],
  ])('refuses %s', async (_, body) => {
    const { gateway } = await openFixture();
    expect(await tokens(gateway).create(grace, body)).toMatchObject({
      status: 400,
      body: { code: 'door/wrong-usage' },
    });
  });
});

describe('tokens', () => {
  test('come in pages, the newest first, and only those of the tenant', async () => {
    const { gateway } = await openFixture();
    const { create, list } = tokens(gateway);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await create(grace, { principal: `agent:a${i}` })).body.id);
    await create(otherGrace, { principal: 'agent:x' });
    const walked: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: Document } = await list(grace, {
        limit: '2',
        ...(cursor === '' ? {} : { cursor }),
      });
      walked.push(...body.tokens.map((each: Document) => each.id));
      cursor = body.cursor;
    }
    expect(walked).toEqual(ids.toReversed());
    expect((await list(otherGrace)).body.tokens).toHaveLength(1);
    expect((await list(mary)).body.code).toBe('policy/denied');
  });

  test('are revoked at once, by who may, and are not there for other tenants', async () => {
    const { gateway } = await openFixture();
    const { create, revoke } = tokens(gateway);
    const { id, token } = (await create(grace, { principal: 'agent:ada' })).body;
    const isGood = () => verifyToken(gateway.store, token, gateway.clock.nowMs()).ok;
    expect(await revoke(otherGrace, id)).toMatchObject({ status: 404, body: { code: 'token/unknown' } });
    expect((await revoke(mary, id)).status).toBe(403);
    expect(isGood()).toBe(true);
    expect((await revoke(grace, id)).body).toMatchObject({ id, state: 'revoked', revokedBy: 'user:grace' });
    expect(isGood()).toBe(false);
    expect((await revoke(grace, id)).status).toBe(200);
    expect(recordsOf(gateway).filter(({ kind }) => kind === 'token-revoked')).toHaveLength(1);
    expect((await revoke(grace, token)).status).toBe(404);
    expect(JSON.stringify(await revoke(grace, token))).not.toContain(token);
  });
});
