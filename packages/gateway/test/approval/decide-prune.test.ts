import { describe, expect, it } from 'vitest';
import { approvalDigest, approvalMigrations, approvalState, use } from '../../src/approval/approval.ts';
import { ask, countOpen, decide, list, pruneApprovals, show } from '../../src/approval/requests.ts';
import { digestBytes } from '../../src/core/digest.ts';
import { openStore, tempDir } from '../budget/temp-store.ts';
import { answer, BINDING, LIFE_MS, NOON, request } from './sample.ts';

const AFTER = NOON + LIFE_MS;
const DAY_MS = 24 * 60 * 60_000;
const FATES = ['pending', 'approved', 'denied', 'used'] as const;

const bindingFor = (id: string) => ({ ...BINDING, inputDigest: digestBytes(id) });

/** One request of each fate, named after it. */
function world() {
  const store = openStore(tempDir(), approvalMigrations);
  for (const id of FATES) store.transact((tx) => ask(tx, request({ id, binding: bindingFor(id) })));
  for (const id of ['approved', 'denied', 'used'] as const) {
    const verdict = id === 'denied' ? 'denied' : 'approved';
    store.transact((tx) => decide(tx, answer({ id, verdict })));
  }
  store.transact((tx) => use(tx, 'used', 'call_1', NOON + 2));
  return store;
}

function inputsOf(store: ReturnType<typeof world>): Record<string, string | undefined> {
  return Object.fromEntries(FATES.map((id) => [id, show(store, id)?.inputText]));
}

describe('use()', () => {
  it('drops the input of what was used, and keeps its digest', () => {
    const used = show(world(), 'used');
    expect(used).toMatchObject({ inputText: '', inputDigest: digestBytes('used'), usedByCall: 'call_1' });
  });
});

describe('pruneApprovals()', () => {
  it('keeps the input of everything that a person may still look at or that still holds', () => {
    const store = world();
    expect(store.transact((tx) => pruneApprovals(tx, AFTER - 1))).toBe(0);
    const input = '{"ms":60000}';
    expect(inputsOf(store)).toEqual({ pending: input, approved: input, denied: input, used: '' });
  });

  it('drops the input of everything that has expired, and changes nothing else', () => {
    const store = world();
    const before = list(store, { limit: 10, nowMs: AFTER });
    store.transact((tx) => pruneApprovals(tx, AFTER));
    expect(list(store, { limit: 10, nowMs: AFTER })).toEqual(
      before.map((one) => ({ ...one, inputText: '' })),
    );
  });

  it('forgets what expired more than thirty days ago, whatever became of it', () => {
    const store = world();
    store.transact((tx) => ask(tx, request({ id: 'late', nowMs: NOON + 1 })));
    expect(store.transact((tx) => pruneApprovals(tx, AFTER + 30 * DAY_MS))).toBe(0);
    expect(store.transact((tx) => pruneApprovals(tx, AFTER + 30 * DAY_MS + 1))).toBe(FATES.length);
    expect(list(store, { limit: 10, nowMs: AFTER }).map(({ id }) => id)).toEqual(['late']);
  });

  it('never lets a used approval be used again', () => {
    const store = world();
    for (const nowMs of [NOON + 3, AFTER, AFTER + 31 * DAY_MS]) {
      store.transact((tx) => pruneApprovals(tx, nowMs));
      expect(
        approvalState(store, { digest: approvalDigest(bindingFor('used')), run: null }, nowMs).kind,
      ).toBe('none');
      expect(store.transact((tx) => use(tx, 'used', 'call_2', nowMs))).toBe(false);
    }
  });
});

describe('countOpen()', () => {
  const { tenant, principal } = BINDING;

  it('counts what waits for an answer, until it is answered or expires', () => {
    const store = world();
    expect(countOpen(store, tenant, principal, AFTER - 1)).toBe(1);
    expect(countOpen(store, tenant, principal, AFTER)).toBe(0);
    store.transact((tx) => decide(tx, answer({ id: 'pending' })));
    expect(countOpen(store, tenant, principal, AFTER - 1)).toBe(0);
  });

  it('counts each principal of each tenant apart', () => {
    const store = world();
    for (const [id, wish] of [
      ['eve', { principal: 'agent:eve' }],
      ['other', { tenant: 'other' }],
    ] as const) {
      store.transact((tx) => ask(tx, request({ id, binding: { ...BINDING, ...wish } })));
    }
    const counts = [
      countOpen(store, tenant, principal, NOON),
      countOpen(store, tenant, 'agent:eve', NOON),
      countOpen(store, 'other', principal, NOON),
      countOpen(store, 'other', 'agent:eve', NOON),
    ];
    expect(counts).toEqual([1, 1, 1, 0]);
  });
});
