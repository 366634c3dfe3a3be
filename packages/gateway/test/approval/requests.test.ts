import { describe, expect, it } from 'vitest';
import { approvalMigrations, stateAt, use } from '../../src/approval/approval.ts';
import { ask, decide, list, show } from '../../src/approval/requests.ts';
import { digestBytes } from '../../src/core/digest.ts';
import { openStore, tempDir } from '../budget/temp-store.ts';
import { answer, BINDING, LIFE_MS, NOON, request } from './sample.ts';

const AFTER = NOON + LIFE_MS;

/** One request of each fate; each about another input. */
function world() {
  const store = openStore(tempDir(), approvalMigrations);
  const open = (id: string, nowMs: number) => {
    const binding = { ...BINDING, inputDigest: digestBytes(id) };
    store.transact((tx) => ask(tx, request({ id, binding, nowMs })));
  };
  for (const id of ['apr_aa_1', 'apr_aa_2', 'apr_bb_3', 'apr_bb_4']) open(id, NOON);
  for (const id of ['apr_aa_1', 'apr_aa_2']) store.transact((tx) => decide(tx, answer({ id })));
  store.transact((tx) => decide(tx, answer({ id: 'apr_bb_3', verdict: 'denied' })));
  store.transact((tx) => use(tx, 'apr_aa_1', 'call_1', NOON + 2));
  open('apr_cc_5', AFTER);
  return store;
}

describe('list()', () => {
  const ids = (asked: Parameters<typeof list>[1]) => list(world(), asked).map(({ id }) => id);

  it.each([
    [undefined, NOON + 2, ['apr_cc_5', 'apr_bb_4', 'apr_bb_3', 'apr_aa_2', 'apr_aa_1']],
    ['pending', NOON + 2, ['apr_cc_5', 'apr_bb_4']],
    ['pending', AFTER, ['apr_cc_5']],
    ['approved', NOON + 2, ['apr_aa_2']],
    ['approved', AFTER, []],
    ['expired', AFTER, ['apr_bb_4', 'apr_aa_2']],
    ['expired', NOON + 2, []],
    ['denied', AFTER, ['apr_bb_3']],
    ['used', AFTER, ['apr_aa_1']],
  ] as const)('gives the requests in state %s at %s, the newest first', (state, nowMs, expected) => {
    expect(ids({ ...(state && { state }), nowMs, limit: 10 })).toEqual(expected);
  });

  it('gives the same states that stateAt() gives', () => {
    for (const nowMs of [NOON + 2, AFTER]) {
      const store = world();
      for (const state of ['pending', 'approved', 'denied', 'used', 'expired'] as const) {
        const all = list(store, { nowMs, limit: 10 }).filter((one) => stateAt(one, nowMs) === state);
        expect(list(store, { state, nowMs, limit: 10 })).toEqual(all);
      }
    }
  });

  it('goes through all pages by cursor, each request once', () => {
    const store = world();
    const seen: string[] = [];
    for (let page = list(store, { limit: 2, nowMs: NOON }); page.length > 0; ) {
      seen.push(...page.map(({ id }) => id));
      page = list(store, { limit: 2, nowMs: NOON, after: seen.at(-1) ?? '' });
    }
    expect(seen).toEqual(['apr_cc_5', 'apr_bb_4', 'apr_bb_3', 'apr_aa_2', 'apr_aa_1']);
  });

  it.each([
    [{ tenant: 'acme' }, ['apr_dd_6', 'apr_ee_7']],
    [{ principal: 'agent:bob' }, ['apr_ee_7']],
    [{ tenant: 'acme', principal: 'agent:bob' }, ['apr_ee_7']],
    [{ tenant: BINDING.tenant, principal: 'agent:bob' }, []],
    [{ tenant: 'ac' }, []],
    [{ tenant: '' }, []],
  ])('keeps to the tenant and the asker %j', (of, expected) => {
    const store = world();
    const others = [BINDING.principal, 'agent:bob'].map((principal, i) => ({
      id: `apr_${'de'.charAt(i).repeat(2)}_${6 + i}`,
      binding: { ...BINDING, tenant: 'acme', principal },
    }));
    for (const each of others) store.transact((tx) => ask(tx, request({ ...each, nowMs: NOON })));
    const listed = list(store, { ...of, nowMs: NOON + 2, limit: 10 }).map(({ id }) => id);
    expect(listed.sort()).toEqual(expected);
    const open = list(store, { ...of, state: 'pending', nowMs: NOON + 2, limit: 10 }).map(({ id }) => id);
    expect(open.sort()).toEqual(expected);
  });

  it('has nothing after an unknown cursor', () => {
    expect(ids({ after: 'apr_none', limit: 10, nowMs: NOON })).toEqual([]);
  });
});

describe('show()', () => {
  it.each([
    ['apr_cc_5', 'apr_cc_5'],
    ['apr_cc', 'apr_cc_5'],
    ['apr_c', null],
    ['apr_aa', null],
    ['apr_aa_2', 'apr_aa_2'],
    ['apr_%%', null],
    ['apr_c_', null],
    ['apr_zz', null],
    ['', null],
  ])('shows for %j the request %j', (id, expected) => {
    expect(show(world(), id)?.id ?? null).toBe(expected);
  });
});
