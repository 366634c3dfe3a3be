import { describe, expect, test } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { recordsOf, type TestGateway, testClock } from '../fixture/gateway.ts';
import { ask, callerOf, type Document } from './ask.ts';
import { ada, bob, grace, mary, openFixture, otherAda, otherGrace } from './fixture.ts';

const approvals = (gateway: TestGateway) => ({
  /** The answer to a call that needs an approval. */
  launch: (as: Caller = ada, site = 1) =>
    ask(gateway, 'createCall', { as, body: { tool: 'test.launch', input: { site } } }),
  list: (as: Caller, query: Record<string, string> = {}) => ask(gateway, 'listApprovals', { as, query }),
  show: (as: Caller, id: string) => ask(gateway, 'getApproval', { as, params: { id } }),
  decide: (as: Caller, id: string, verdict = 'approved', note?: unknown) =>
    ask(gateway, 'decideApproval', {
      ...{ as, params: { id } },
      body: note === undefined ? { verdict } : { verdict, note },
    }),
});

/** A gateway where a call of Ada waits for an approval. */
async function asking() {
  const clock = testClock();
  const { gateway } = await openFixture({ clock });
  const acts = approvals(gateway);
  const { id } = (await acts.launch()).body.approval;
  return { gateway, clock, id: String(id), ...acts };
}

describe('requests for approval', () => {
  test('are there for their asker and for who may read, and for nobody else', async () => {
    const { id, list, show } = await asking();
    const callers: readonly (readonly [string, Caller, number])[] = [
      ['its asker', ada, 200],
      ['its asker with a credential for calls', callerOf(ada.principal, ['call']), 200],
      ['who may read the journal', grace, 200],
      ['who may read, with a credential to approve', callerOf(grace.principal, ['approve']), 200],
      ['who may read, with a credential for calls', callerOf(grace.principal, ['call']), 404],
      ['a user whom no policy lets read', mary, 404],
      ['another agent', bob, 404],
      ['the same name in another tenant', otherAda, 404],
      ['the operator of another tenant', otherGrace, 404],
      ['a credential that is for secrets', callerOf(grace.principal, ['secrets']), 403],
    ];
    for (const [who, as, status] of callers) {
      const shown = await show(as, id);
      expect([who, shown.status]).toEqual([who, status]);
      if (status === 200) expect(shown.body).toMatchObject({ id, state: 'pending', inputText: '{"site":1}' });
      const listed: readonly Document[] = (await list(as)).body.approvals ?? [];
      expect([who, listed.map((each) => each.id)]).toEqual([who, status === 200 ? [id] : []]);
    }
    expect((await show(grace, id.slice(0, 12))).status).toBe(404);
  });

  test('come in pages, by state, newest first, and end', async () => {
    const { gateway, clock, id, launch, list, decide } = await asking();
    for (let site = 2; site <= 7; site++) await launch(site % 2 === 0 ? bob : ada, site);
    await launch(otherAda, 1);
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: Document } = await list(grace, {
        limit: '3',
        ...(cursor === '' ? {} : { cursor }),
      });
      ids.push(...body.approvals.map((each: Document) => each.id));
      cursor = body.cursor;
    }
    expect(new Set(ids).size).toBe(7);
    expect(ids.at(-1)).toBe(id);
    expect((await list(bob)).body.approvals.map((each: Document) => each.principal)).toEqual(
      Array(3).fill('agent:bob'),
    );
    await decide(grace, id, 'denied');
    expect((await list(grace, { state: 'denied' })).body.approvals).toHaveLength(1);
    clock.add(gateway.approvalExpiresAfterMs);
    expect((await list(grace, { state: 'expired' })).body.approvals).toHaveLength(6);
    expect((await list(grace, { state: 'pending' })).body).toEqual({ approvals: [], cursor: null });
    for (const query of [{ limit: '0' }, { limit: '1001' }, { state: 'open' }, { cursor: '' }])
      expect((await list(grace, query as Record<string, string>)).status).toBe(400);
  });
});

describe('a decision', () => {
  test('of a user lets the identical call run once, and says who decided', async () => {
    const { gateway, id, launch, decide } = await asking();
    const { status, body } = await decide(mary, id, 'approved', 'agreed');
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, state: 'approved', decidedBy: 'user:mary', note: 'agreed' });
    expect((await launch()).status).toBe(200);
    expect((await launch()).status).toBe(403);
    const records = recordsOf(gateway).filter(({ kind }) => kind === 'approval-decided');
    expect(records.map(({ principal }) => principal)).toEqual(['user:mary']);
  });

  test('that denies keeps the call from running', async () => {
    const { id, launch, decide } = await asking();
    expect((await decide(mary, id, 'denied')).body).toMatchObject({ state: 'denied', note: null });
    expect((await launch()).body.code).toBe('policy/approval-denied');
  });

  test('is made once, by the first caller', async () => {
    const { id, decide, launch } = await asking();
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        decide(i % 2 === 0 ? mary : grace, id, i < 5 ? 'approved' : 'denied'),
      ),
    );
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    const others = all.filter(({ status }) => status !== 200);
    expect(others.every(({ status, body }) => status === 409 && body.code === 'approval/not-pending')).toBe(
      true,
    );
    expect((await launch()).status).toBe(200);
  });

  test.each([
    ['the agent that asks', callerOf(ada.principal), 403, 'approval/not-allowed'],
    ['another agent', callerOf(bob.principal), 404, 'approval/unknown'],
    ['a service', callerOf({ kind: 'service', name: 'ci' }), 404, 'approval/unknown'],
    [
      'an agent that is called like a user',
      callerOf({ kind: 'agent', name: 'grace' }),
      404,
      'approval/unknown',
    ],
    ['a user of another tenant', otherGrace, 404, 'approval/unknown'],
    [
      'a user with a credential for calls',
      callerOf(grace.principal, ['call', 'read', 'admin']),
      403,
      'door/insufficient-scope',
    ],
  ])('is refused to %s, and the request stays open', async (_, as, status, code) => {
    const { id, decide, show, launch } = await asking();
    const refused = await decide(as, id);
    expect([refused.status, refused.body.code]).toEqual([status, code]);
    expect((await show(ada, id)).body.state).toBe('pending');
    expect((await launch()).status).toBe(403);
    expect((await decide(mary, id)).status).toBe(200);
  });

  test('is refused in words that tell nothing of what is not theirs', async () => {
    const { id, decide } = await asking();
    const hidden = await decide(callerOf(bob.principal), id);
    const absent = await decide(callerOf(bob.principal), 'apr_0000000000000000000000000');
    expect(JSON.stringify(hidden).replace(id, 'ID')).toBe(
      JSON.stringify(absent).replace('apr_0000000000000000000000000', 'ID'),
    );
  });

  test('comes too late for a request that has expired', async () => {
    const { gateway, clock, id, decide } = await asking();
    clock.add(gateway.approvalExpiresAfterMs);
    expect((await decide(mary, id)).body.code).toBe('approval/not-pending');
  });

  test('is one of two words and a note of one line', async () => {
    const { id, decide } = await asking();
    const wrong = [
      ['yes'],
      ['used'],
      ['approved', 'a\nb'],
      ['approved', 'x'.repeat(1001)],
      ['approved', 7],
    ] as const;
    for (const [verdict, note] of wrong) expect((await decide(mary, id, verdict, note)).status).toBe(400);
  });
});
