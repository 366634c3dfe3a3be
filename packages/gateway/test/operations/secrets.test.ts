import { describe, expect, it } from 'vitest';
import { GRACE, openTestGateway, recordsOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, callerOf, type Request } from './ask.ts';

const VALUE = 'correct-horse-battery';
const OPERATOR = callerOf(GRACE);
const TENANT = callerOf({ kind: 'user', name: 'tess' }, undefined, 'acme');

async function set(gateway: TestGateway, name: string, request: Partial<Request> = {}) {
  return ask(gateway, 'setSecret', {
    ...{ as: OPERATOR, params: { name }, body: Uint8Array.from(Buffer.from(VALUE)), ...request },
  });
}

const list = (gateway: TestGateway, as = OPERATOR) => ask(gateway, 'listSecrets', { as });
const remove = (gateway: TestGateway, name: string, request: Partial<Request> = {}) =>
  ask(gateway, 'removeSecret', { as: OPERATOR, params: { name }, ...request });

describe('/v1/secrets', () => {
  it('sets, lists and removes a secret, and never gives its value', async () => {
    const gateway = await openTestGateway();
    const first = await set(gateway, 'github');
    expect(first.body).toEqual({ name: 'github', scope: 'global', version: 1, bytes: VALUE.length });
    const second = await set(gateway, 'github');
    const listed = await list(gateway);
    expect(listed.body.secrets).toMatchObject([{ name: 'github', scope: 'global', version: 2 }]);
    const removed = await remove(gateway, 'github');
    expect(removed.body).toEqual({ name: 'github', scope: 'global', removed: true });
    expect((await list(gateway)).body.secrets).toEqual([]);
    const reported = JSON.stringify([
      first,
      second,
      listed,
      removed,
      recordsOf(gateway).map(({ line }) => line),
    ]);
    expect(reported).toContain('github');
    expect(reported).not.toContain(VALUE);
    expect(reported).not.toContain(Buffer.from(VALUE).toString('base64'));
  });

  it('keeps the value to the byte, and takes it out of the memory of the request', async () => {
    const gateway = await openTestGateway();
    const value = Uint8Array.of(0, 255, 10, 65, 66, 67, 68, 10);
    await set(gateway, 'odd', { body: value });
    expect([...value]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    const ref = gateway.vault.find('odd', { tenant: 'default', principal: GRACE, skill: null });
    if (ref === null) throw new Error('the secret is not there');
    const kept = await gateway.vault.reveal(ref, {
      call: 'call_x',
      tool: 'test.tool',
      purpose: 'a test',
    } as never);
    expect([...kept]).toEqual([0, 255, 10, 65, 66, 67, 68, 10]);
  });

  it('has no secret under another scope', async () => {
    const gateway = await openTestGateway();
    await set(gateway, 'github', { query: { scope: 'skill:acme.text' } });
    const { status, body } = await remove(gateway, 'github');
    expect([status, body.code]).toEqual([404, 'vault/missing']);
    expect((await remove(gateway, 'github', { query: { scope: 'skill:acme.text' } })).status).toBe(200);
  });

  it('keeps a tenant to secrets that are for it', async () => {
    const gateway = await openTestGateway();
    await set(gateway, 'house');
    const own = { as: TENANT, query: { scope: 'tenant:acme' } };
    expect((await set(gateway, 'theirs', own)).status).toBe(200);
    for (const scope of ['global', 'tenant:default', 'principal:agent:ada', 'skill:acme.text']) {
      const { status, body } = await set(gateway, 'x', { as: TENANT, query: { scope } });
      expect([scope, status, body.code]).toEqual([scope, 403, 'policy/denied']);
      expect((await remove(gateway, 'house', { as: TENANT, query: { scope } })).status).toBe(403);
    }
    const names = async (as: typeof TENANT) =>
      (await list(gateway, as)).body.secrets.map(({ name }: { name: string }) => name);
    expect(await names(TENANT)).toEqual(['theirs']);
    expect(await names(OPERATOR)).toEqual(['house', 'theirs']);
  });

  it.each([
    ['an agent', callerOf({ kind: 'agent', name: 'ada' }), 'policy/denied'],
    ['a service that no policy lets administer', callerOf({ kind: 'service', name: 'ci' }), 'policy/denied'],
    ['a credential without the scope', callerOf(GRACE, ['admin', 'read']), 'door/insufficient-scope'],
  ])('refuses %s', async (_, as, code) => {
    const gateway = await openTestGateway();
    expect((await set(gateway, 'github', { as })).body.code).toBe(code);
    expect((await list(gateway, as)).body.code).toBe(code);
    expect(gateway.vault.list()).toEqual([]);
  });

  it.each([
    ['nothing at all', new Uint8Array(0)],
    ['more than a secret has', new Uint8Array(64 * 1024 + 1)],
  ])('refuses %s as a value', async (_, body) => {
    const gateway = await openTestGateway();
    expect((await set(gateway, 'github', { body })).status).toBe(400);
  });

  it.each(['', 'Global', 'tenant:', 'tenant:a b', 'principal:ada', 'skill:', 'house:1'])(
    'refuses the scope %j',
    async (scope) => {
      const gateway = await openTestGateway();
      expect((await set(gateway, 'github', { query: { scope } })).status).toBe(400);
    },
  );
});
