import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyReceipt, webPrimitives } from '@palisade/sdk';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { list } from '../../src/approval/requests.ts';
import type { Principal } from '../../src/core/principal.ts';
import { type Answer, answerApproval } from '../../src/invoke/administer.ts';
import {
  ADA,
  bodyOf,
  type CallWishes,
  callTool,
  GRACE,
  kindsOf,
  makeTool,
  openTestGateway,
  recordsOf,
  ringOf,
  type TestGateway,
  testClock,
} from '../fixture/gateway.ts';
import { verified } from '../journal/sample.ts';

const POLICIES = `
@id("calls") permit(principal, action == Action::"call", resource) when { context.approved };
@id("people") permit(principal is User, action == Action::"approve", resource);
@id("four-eyes") forbid(principal, action == Action::"approve", resource) when { context has askerUser && context.askerUser == principal };
`;

/** A gateway whose only tool needs an approval, and counts how often it ran. */
async function asking() {
  const counter = { runs: 0 };
  const tool = makeTool('test.launch', async () => {
    counter.runs += 1;
    return null;
  });
  const clock = testClock();
  const gateway = await openTestGateway({ tools: [tool], policies: POLICIES, clock });
  const ask = async (wishes: CallWishes = {}) =>
    (await callTool(gateway, 'test.launch', { input: { site: 1 }, ...wishes })).outcome.code;
  return { gateway, counter, clock, ask };
}

function pendingOf({ store, clock }: TestGateway): string {
  return list(store, { state: 'pending', limit: 1, nowMs: clock.nowMs() })[0]?.id ?? 'none';
}

function answer(gateway: TestGateway, wishes: Partial<Answer> = {}) {
  return answerApproval(gateway, {
    id: pendingOf(gateway),
    verdict: 'approved',
    by: GRACE,
    note: null,
    door: 'cli',
    credential: 'process',
    ...wishes,
  });
}

describe('requests for approval', () => {
  it('are bounded for each principal; an open one is still found', async () => {
    const { gateway, ask } = await asking();
    for (let site = 0; site < 100; site++) await ask({ input: { site } });
    expect(list(gateway.store, { limit: 1000, nowMs: gateway.clock.nowMs() })).toHaveLength(100);
    const { outcome } = await callTool(gateway, 'test.launch', { input: { site: 100 } });
    expect(outcome).toMatchObject({
      code: 'policy/approval-required',
      message: expect.stringContaining('100 requests'),
    });
    expect(list(gateway.store, { limit: 1000, nowMs: gateway.clock.nowMs() })).toHaveLength(100);
    const known = await callTool(gateway, 'test.launch', { input: { site: 7 } });
    expect(known.outcome).toMatchObject({ message: expect.stringContaining('apr_') });
    expect(await ask({ principal: { kind: 'agent', name: 'bob' }, input: { site: 100 } })).toBe(
      'policy/approval-required',
    );
    expect(list(gateway.store, { limit: 1000, nowMs: gateway.clock.nowMs() })).toHaveLength(101);
  });
});

describe('an approval', () => {
  it('lets the identical call run once, and the next one asks again', async () => {
    const { gateway, counter, ask } = await asking();
    expect(await ask()).toBe('policy/approval-required');
    expect(await ask()).toBe('policy/approval-required');
    expect(recordsOf(gateway).filter(({ kind }) => kind === 'approval-asked')).toHaveLength(1);
    expect(await answer(gateway)).toMatchObject({ ok: true });
    expect(counter.runs).toBe(0);
    expect(await ask()).toBe('ok');
    expect(await ask()).toBe('policy/approval-required');
    expect(counter.runs).toBe(1);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('is named in the receipt and in the journal, with the person who gave it', async () => {
    const { gateway, ask } = await asking();
    await ask();
    const id = pendingOf(gateway);
    await answer(gateway, { note: 'once' });
    const { receipt, callId } = await callTool(gateway, 'test.launch', { input: { site: 1 } });
    const report = await verifyReceipt(receipt ?? '', await ringOf(gateway), {}, webPrimitives);
    expect(report.ok).toBe(true);
    expect(report.statement?.predicate.approval).toMatchObject({ id, by: 'user:grace' });
    expect(kindsOf(gateway, callId)).toEqual(['intent', 'ended']);
    const decided = recordsOf(gateway).find(({ kind }) => kind === 'approval-decided');
    expect(decided?.principal).toBe('user:grace');
    expect(bodyOf(decided)).toMatchObject({
      approval: id,
      verdict: 'approved',
      asker: 'agent:ada',
      note: 'once',
      decidedBy: ['people'],
    });
  });

  it('serves one of many identical calls at once', async () => {
    const { gateway, counter, ask } = await asking();
    await ask();
    await answer(gateway);
    const codes = await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
    expect(counter.runs).toBe(1);
  });

  it.each<[string, CallWishes]>([
    ['another input', { input: { site: 2 } }],
    ['an input that is only a little more', { input: { site: 1, also: 2 } }],
    ['another agent', { principal: { kind: 'agent', name: 'eve' } }],
    ['a user of the same name', { principal: { kind: 'user', name: 'ada' } }],
    ['another tenant', { tenant: 'other' }],
  ])('does not serve %s', async (_, other) => {
    const { gateway, counter, ask } = await asking();
    await ask();
    await answer(gateway);
    expect(await ask(other)).toBe('policy/approval-required');
    expect(counter.runs).toBe(0);
    expect(await ask()).toBe('ok');
  });

  it('does not serve under other policies, and cannot be given for old ones', async () => {
    const { gateway, counter, ask } = await asking();
    await ask();
    const [old] = [pendingOf(gateway)];
    await answer(gateway);
    await ask({ input: { site: 2 } });
    const open = pendingOf(gateway);
    writeFileSync(
      join(gateway.stateDir, 'policies', 'more.cedar'),
      '@id("more") forbid(principal == Agent::"x", action, resource);\n',
    );
    await sleep(5);
    expect(await ask()).toBe('policy/approval-required');
    expect(pendingOf(gateway)).not.toBe(old);
    expect(await answer(gateway, { id: open })).toMatchObject({ ok: false, code: 'approval/not-pending' });
    expect(counter.runs).toBe(0);
    await answer(gateway);
    expect(await ask()).toBe('ok');
  });

  it('that is denied stops the call with who said so, until the denial is over', async () => {
    const { gateway, clock, counter, ask } = await asking();
    await ask();
    await answer(gateway, { verdict: 'denied', note: 'not today' });
    const { outcome } = await callTool(gateway, 'test.launch', { input: { site: 1 } });
    expect(outcome).toMatchObject({
      code: 'policy/approval-denied',
      message: 'Cannot run call: user:grace denied it ("not today")',
    });
    clock.add(15 * 60_000);
    expect(await ask()).toBe('policy/approval-required');
    expect(counter.runs).toBe(0);
  });

  it('that expired before it was used is asked for anew', async () => {
    const { gateway, clock, counter, ask } = await asking();
    await ask();
    await answer(gateway);
    clock.add(15 * 60_000);
    expect(await ask()).toBe('policy/approval-expired');
    expect(await ask()).toBe('policy/approval-required');
    expect(counter.runs).toBe(0);
    await answer(gateway);
    expect(await ask()).toBe('ok');
  });

  it.each<[string, Principal]>([
    ['the asking agent', ADA],
    ['another agent', { kind: 'agent', name: 'eve' }],
    ['a service', { kind: 'service', name: 'grace' }],
  ])('is never given by %s', async (_, by) => {
    const { gateway, counter, ask } = await asking();
    await ask();
    for (const verdict of ['approved', 'denied'] as const) {
      expect(await answer(gateway, { by, verdict })).toMatchObject({
        ok: false,
        code: 'approval/not-allowed',
      });
    }
    expect(await ask()).toBe('policy/approval-required');
    expect(counter.runs).toBe(0);
    expect(recordsOf(gateway).some(({ kind }) => kind === 'approval-decided')).toBe(false);
  });

  it('is not given by the person who asks where the policies want four eyes', async () => {
    const { gateway, ask } = await asking();
    await ask({ principal: GRACE });
    expect(await answer(gateway)).toMatchObject({ ok: false, code: 'approval/not-allowed' });
    expect(await answer(gateway, { by: { kind: 'user', name: 'hopper' } })).toMatchObject({ ok: true });
    expect(await ask({ principal: GRACE })).toBe('ok');
  });

  it('is not one for another tenant when its row is changed to say so', async () => {
    const { gateway, counter, ask } = await asking();
    await ask();
    expect(await answer(gateway)).toMatchObject({ ok: true });
    const db = new Database(join(gateway.stateDir, 'palisade.db'));
    db.exec("UPDATE approval SET tenant = 'acme'");
    expect(await ask({ tenant: 'acme' })).toBe('policy/approval-required');
    expect(counter.runs).toBe(0);
    db.exec("UPDATE approval SET tenant = 'default' WHERE state = 'approved'");
    db.close();
    expect(await ask()).toBe('ok');
  });

  it('is given once', async () => {
    const { gateway, ask } = await asking();
    await ask();
    const id = pendingOf(gateway);
    const answers = await Promise.all([answer(gateway, { id }), answer(gateway, { id, verdict: 'denied' })]);
    expect(answers.map(({ ok }) => ok)).toEqual([true, false]);
    expect(recordsOf(gateway).filter(({ kind }) => kind === 'approval-decided')).toHaveLength(1);
    expect(await answer(gateway, { id: 'apr_nothing' })).toMatchObject({
      ok: false,
      code: 'approval/unknown',
    });
  });
});

describe('an approval that lasts', () => {
  it('lets identical calls run for its time, and no other call', async () => {
    const { gateway, counter, clock, ask } = await asking();
    await ask();
    expect(await answer(gateway, { lasting: { lasts: 'time', forMs: 3_600_000 } })).toMatchObject({
      ok: true,
    });
    expect([await ask(), await ask(), await ask({ run: 'other' })]).toEqual(['ok', 'ok', 'ok']);
    expect(await ask({ input: { site: 2 } })).toBe('policy/approval-required');
    expect(counter.runs).toBe(3);
    const [decided] = recordsOf(gateway).filter(({ kind }) => kind === 'approval-decided');
    expect(bodyOf(decided)).toMatchObject({ lasts: 'time', forMs: 3_600_000 });
    clock.add(3_600_000);
    expect(await ask()).toBe('policy/approval-expired');
    expect(counter.runs).toBe(3);
  });

  it('ends with the policies that were in force', async () => {
    const { gateway, ask } = await asking();
    await ask();
    await answer(gateway, { lasting: { lasts: 'time', forMs: 3_600_000 } });
    expect(await ask()).toBe('ok');
    writeFileSync(
      join(gateway.stateDir, 'policies/test.cedar'),
      `${POLICIES}// changed\n@id("more") forbid(principal, action == Action::"call", resource) when { context.input has never };`,
    );
    gateway.policy.reload();
    expect(await ask()).toBe('policy/approval-required');
  });

  it('of a run is for the calls of that run', async () => {
    const { gateway, ask } = await asking();
    await ask({ run: 'build-7' });
    await answer(gateway, { lasting: { lasts: 'run', forMs: 3_600_000 } });
    expect([await ask({ run: 'build-7' }), await ask({ run: 'build-7' })]).toEqual(['ok', 'ok']);
    expect([await ask(), await ask({ run: 'build-8' })]).toEqual([
      'policy/approval-required',
      'policy/approval-required',
    ]);
  });
});
