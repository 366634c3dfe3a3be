import { parseKeyRing, verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, test } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import type { TierRow } from '../../src/tiers/process/inspect.ts';
import { kindsOf, recordsOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, bytesOf, callerOf, type Document, reply } from './ask.ts';
import { ada, grace, mary, openFixture, otherAda, otherGrace } from './fixture.ts';

const idsOf = (tools: readonly Document[]) => tools.map(({ id }) => id);

describe('GET /v1/tools', () => {
  const list = (gateway: TestGateway, as: Caller, query = {}) => ask(gateway, 'listTools', { as, query });
  const show = (gateway: TestGateway, as: Caller, id: string) =>
    ask(gateway, 'getTool', { as, params: { id } });

  test('has what its caller could call, in pages to the end', async () => {
    const { gateway } = await openFixture();
    const all = idsOf((await list(gateway, ada)).body.tools);
    expect(all).toContain('test.launch');
    expect(all).not.toContain('test.hidden');
    expect(all).toEqual(all.toSorted());
    expect(idsOf((await list(gateway, mary)).body.tools)).toContain('test.hidden');
    const walked: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: Document } = await list(gateway, ada, {
        limit: '2',
        ...(cursor === '' ? {} : { cursor }),
      });
      walked.push(...idsOf(body.tools));
      cursor = body.cursor;
    }
    expect(walked).toEqual(all);
    expect((await list(gateway, ada, { limit: String(all.length) })).body.cursor).toBe(null);
  });

  test('shows one, and not one that its caller could never call', async () => {
    const { gateway } = await openFixture();
    expect((await show(gateway, mary, 'test.hidden')).body).toMatchObject({
      id: 'test.hidden',
      tier: 'builtin',
    });
    const hidden = await show(gateway, ada, 'test.hidden');
    const absent = await show(gateway, ada, 'test.absent');
    expect(hidden.status).toBe(404);
    expect(JSON.stringify(hidden).replace('hidden', 'absent')).toBe(JSON.stringify(absent));
  });
});

describe('GET /v1/budgets', () => {
  const budgets = (gateway: TestGateway, as: Caller) => ask(gateway, 'listBudgets', { as });

  test('has the accounts of the tenant, for who may read', async () => {
    const { gateway } = await openFixture();
    for (const as of [ada, otherAda, callerOf(ada.principal, ['call'], 'defaulted')])
      await ask(gateway, 'createCall', { as, body: { tool: 'test.echo', run: 'r1' } });
    const { status, body } = await budgets(gateway, grace);
    expect(status).toBe(200);
    expect(body.rules.map((each: Document) => each.name)).toEqual(['run', 'principal-hour', 'tenant-day']);
    const subjects = body.accounts.map((each: Document) => each.subject);
    expect(subjects.sort()).toEqual([
      'default',
      'default/agent:ada',
      expect.stringMatching(/^default\/ses_/),
    ]);
    const other = (await budgets(gateway, otherGrace)).body.accounts;
    expect(other.every((each: Document) => /^acme(\/|$)/.test(each.subject))).toBe(true);
    expect(other).toHaveLength(3);
  });

  test('is refused to whom the policies do not let read', async () => {
    const { gateway } = await openFixture();
    for (const as of [ada, mary]) expect((await budgets(gateway, as)).body.code).toBe('policy/denied');
    const narrow = callerOf(grace.principal, ['call']);
    expect((await budgets(gateway, narrow)).body.code).toBe('door/insufficient-scope');
  });
});

describe('GET /v1/whoami', () => {
  test('tells what the credential says', async () => {
    const { gateway } = await openFixture();
    const as = { ...callerOf(ada.principal, ['read', 'call']), approver: mary.principal };
    expect((await ask(gateway, 'whoAmI', { as })).body).toEqual({
      principal: 'agent:ada',
      tenant: 'default',
      scopes: ['call', 'read'],
      credential: 'token:tok_test',
      ...{ device: null, channel: null, approver: 'user:mary' },
    });
  });
});

describe('the signing keys', () => {
  const rotate = (gateway: TestGateway, as: Caller) => ask(gateway, 'rotateKey', { as });

  test('are listed and exported for everybody, and verify', async () => {
    const { gateway } = await openFixture();
    const { keys } = (await ask(gateway, 'listKeys', { as: ada })).body;
    expect(keys).toMatchObject([{ isCurrent: true, retiredAt: null }]);
    const supplied = await reply(gateway, 'exportKeys', { as: ada });
    const ring = await parseKeyRing((await bytesOf(supplied)).toString(), webPrimitives);
    if (!ring.ok) throw new Error(ring.why);
    const made = await ask(gateway, 'createCall', { as: ada, body: { tool: 'test.echo' } });
    const receipt = JSON.stringify(made.body.receipt);
    expect(made.body.receipt.signatures[0].keyid).toBe(keys[0].keyId);
    expect((await verifyReceipt(receipt, ring.keys, {}, webPrimitives)).ok).toBe(true);
  });

  test('are rotated by who may administer the gateway’s own tenant, and by nobody else', async () => {
    const { gateway } = await openFixture();
    const before = gateway.keys.currentId;
    for (const as of [callerOf(ada.principal), mary, otherGrace])
      expect((await rotate(gateway, as)).status).toBe(403);
    expect((await rotate(gateway, callerOf(grace.principal, ['read']))).body.code).toBe(
      'door/insufficient-scope',
    );
    expect(gateway.keys.currentId).toBe(before);
    const { status, body } = await rotate(gateway, grace);
    expect([status, body]).toEqual([200, { from: before, to: gateway.keys.currentId }]);
    expect(body.to).not.toBe(before);
    const [record] = recordsOf(gateway).filter(({ kind }) => kind === 'key-rotated');
    expect(record?.principal).toBe('user:grace');
    const made = await ask(gateway, 'createCall', { as: ada, body: { tool: 'test.echo' } });
    expect(kindsOf(gateway, made.body.callId)).toEqual(['intent', 'ended']);
  });
});

describe('GET /v1/doctor', () => {
  const HELD: TierRow = { tier: 'c', name: 'trial', holds: true, detail: 'run ended well', fix: null };
  const doctor = (gateway: TestGateway, as: Caller) => ask(gateway, 'getDoctor', { as });

  test('tells what holds, in one trial for all who ask at once', async () => {
    const { gateway } = await openFixture();
    let trials = 0;
    const inspectTiers = async () => {
      trials += 1;
      return [HELD];
    };
    const watched = { ...gateway, inspectTiers };
    const reports = await Promise.all(Array.from({ length: 5 }, () => doctor(watched, grace)));
    expect(trials).toBe(1);
    expect(reports.every(({ body }) => body.ok)).toBe(true);
    const names = reports[0]?.body.findings.map((each: Document) => each.name);
    expect(names).toEqual(
      expect.arrayContaining(['state directory', 'signing key', 'policies', 'tiers', 'tier c']),
    );
    await doctor(watched, grace);
    expect(trials).toBe(2);
  });

  test('is for those who may read at the gateway’s own tenant', async () => {
    const { gateway } = await openFixture();
    for (const as of [ada, mary, otherGrace])
      expect((await doctor(gateway, as)).body.code).toBe('policy/denied');
  });
});
