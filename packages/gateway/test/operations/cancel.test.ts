import { describe, expect, test } from 'vitest';
import { balances } from '../../src/budget/balances.ts';
import type { LineStep } from '../../src/core/call.ts';
import type { Caller } from '../../src/core/caller.ts';
import { reservations } from '../budget/reservations.ts';
import { kindsOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, callerOf } from './ask.ts';
import { ada, bob, grace, mary, openFixture, otherAda, otherGrace } from './fixture.ts';

const cancel = (gateway: TestGateway, as: Caller, id: string) =>
  ask(gateway, 'cancelCall', { as, params: { id } });

const make = (gateway: TestGateway, tool: string, input: unknown = {}) =>
  ask(gateway, 'createCall', { as: ada, body: { tool, input, run: 'r1' } });

/** The same gateway, which does something when a call comes to a step of the line. */
function at(gateway: TestGateway, step: LineStep, act: (callId: string) => void): TestGateway {
  return {
    ...gateway,
    observer: ({ id }) => ({
      step: (name) => {
        if (name === step) act(id);
      },
      ended: () => undefined,
    }),
  };
}

describe('POST /v1/calls/{id}/cancel', () => {
  test.each([
    ['before it is admitted', 'admit', 'tier/cancelled', 499],
    ['while it is begun', 'begin', 'tier/cancelled', 499],
    ['as its tool starts', 'run', 'tier/cancelled', 499],
    ['when its tool is done', 'finish', 'ok', 200],
  ] as const)(
    'ends a call %s; it is recorded once and nothing stays reserved',
    async (_, step, code, status) => {
      const { gateway } = await openFixture();
      const answers: Promise<{ body: { cancelled: boolean } }>[] = [];
      const watched = at(gateway, step, (id) => answers.push(cancel(gateway, ada, id)));
      const made = await make(watched, 'test.echo');
      expect([made.body.code, made.status]).toEqual([code, status]);
      expect((await Promise.all(answers)).map(({ body }) => body.cancelled)).toEqual([true]);
      expect(kindsOf(gateway, made.body.callId)).toEqual(['intent', 'ended']);
      expect(reservations(gateway.store)).toEqual([]);
      const { budgets: rules, clock } = gateway;
      const [account] = balances(gateway.store, { rules, nowMs: clock.nowMs(), limit: 1 });
      expect(account?.units.find(({ unit }) => unit === 'calls')).toMatchObject({ spent: 1, reserved: 0 });
      expect((await cancel(gateway, ada, made.body.callId)).body.cancelled).toBe(false);
    },
  );

  test('ends a call that waits in its tool, and leaves its neighbours', async () => {
    const { gateway, held, letGo } = await openFixture();
    const made = make(gateway, 'test.hold', { n: 1 });
    await held();
    const [first] = gateway.running.list();
    const other = make(gateway, 'test.hold', { n: 2 });
    expect((await cancel(gateway, ada, first?.callId ?? '')).body).toEqual({
      callId: first?.callId,
      cancelled: true,
    });
    expect((await made).body.code).toBe('tier/cancelled');
    await held();
    letGo();
    expect((await other).body.output).toEqual({ n: 2 });
  });

  test('is for its caller, and for who may administer with a credential for that', async () => {
    const { gateway, held, letGo } = await openFixture();
    const made = make(gateway, 'test.hold');
    await held();
    const [{ callId } = { callId: '' }] = gateway.running.list();
    for (const as of [bob, mary, otherAda, otherGrace, callerOf(grace.principal, ['call', 'read'])]) {
      const refused = await cancel(gateway, as, callId);
      expect(refused).toMatchObject({ status: 404, body: { code: 'run/unknown' } });
    }
    expect(gateway.running.list()).toHaveLength(1);
    expect((await cancel(gateway, grace, callId)).body.cancelled).toBe(true);
    expect((await made).status).toBe(499);
    letGo();
  });
});
