import { describe, expect, it } from 'vitest';
import { approvalMigrations, use } from '../../src/approval/approval.ts';
import { ask, decide, show } from '../../src/approval/requests.ts';
import { openStore, tempDir } from '../budget/temp-store.ts';
import { answer, LIFE_MS, NOON, request } from './sample.ts';

function world() {
  const store = openStore(tempDir(), approvalMigrations);
  store.transact((tx) => ask(tx, request({ id: 'apr_1' })));
  return {
    store,
    decide: (wishes: Partial<Parameters<typeof answer>[0]>) =>
      store.transact((tx) => decide(tx, answer({ id: 'apr_1', ...wishes }))),
  };
}

describe('decide()', () => {
  it.each(['approved', 'denied'] as const)('records that a user %s, when and why', (verdict) => {
    const { store, decide: decided } = world();
    const result = decided({ verdict, note: 'looked at it' });
    expect(result).toMatchObject({
      ok: true,
      approval: { state: verdict, decidedBy: 'user:grace', decidedAtMs: NOON + 1, note: 'looked at it' },
    });
    if (result.ok) expect(show(store, 'apr_1')).toEqual(result.approval);
  });

  it.each(['agent', 'service'] as const)('refuses a principal of kind %s, whatever it decides', (kind) => {
    const { store, decide: decided } = world();
    for (const verdict of ['approved', 'denied'] as const) {
      expect(decided({ verdict, by: { kind, name: 'grace' } })).toMatchObject({
        ok: false,
        code: 'approval/not-allowed',
      });
    }
    expect(decided({ by: { kind, name: 'grace' } })).toMatchObject({
      message: `Cannot approve request "apr_1": ${kind}:grace is of kind "${kind}", expected "user"`,
    });
    expect(show(store, 'apr_1')?.state).toBe('pending');
  });

  it('refuses a request it does not know', () => {
    expect(world().decide({ id: 'apr_9' })).toEqual({
      ok: false,
      code: 'approval/unknown',
      message: 'Cannot approve request "apr_9": it does not exist',
    });
  });

  it('refuses to change a decision', () => {
    const { store, decide: decided } = world();
    decided({ verdict: 'denied' });
    expect(decided({ nowMs: NOON + 9 })).toEqual({
      ok: false,
      code: 'approval/not-pending',
      message:
        'Cannot approve request "apr_1": it was denied by user:grace at 2026-05-01T12:00:00.001Z, expected a pending request',
    });
    expect(show(store, 'apr_1')?.state).toBe('denied');
  });

  it('refuses a used approval and names the call', () => {
    const { store, decide: decided } = world();
    decided({});
    store.transact((tx) => use(tx, 'apr_1', 'call_7', NOON + 2));
    expect(decided({ verdict: 'denied' })).toMatchObject({
      code: 'approval/not-pending',
      message: 'Cannot deny request "apr_1": it was used by call "call_7", expected a pending request',
    });
  });

  it('refuses an expired request', () => {
    expect(world().decide({ nowMs: NOON + LIFE_MS })).toMatchObject({
      code: 'approval/not-pending',
      message:
        'Cannot approve request "apr_1": it expired at 2026-05-01T12:15:00.000Z, expected a pending request',
    });
  });

  it.each([
    ['differ', 'another set'],
    ['are not loaded', null],
  ])('refuses to approve when the current policies %s, and still takes a no', (_, currentPolicySet) => {
    const { store, decide: decided } = world();
    expect(decided({ currentPolicySet })).toMatchObject({ ok: false, code: 'approval/not-pending' });
    expect(show(store, 'apr_1')?.state).toBe('pending');
    expect(decided({ currentPolicySet, verdict: 'denied' })).toMatchObject({ ok: true });
  });
});
