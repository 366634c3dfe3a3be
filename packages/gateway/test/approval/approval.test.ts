import { describe, expect, it } from 'vitest';
import {
  type ApprovalBinding,
  approvalDigest,
  approvalMigrations,
  approvalState,
  use,
} from '../../src/approval/approval.ts';
import { ask, decide, show } from '../../src/approval/requests.ts';
import { digestBytes, digestValue } from '../../src/core/digest.ts';
import { openStore, tempDir } from '../budget/temp-store.ts';
import { answer, BINDING, LIFE_MS, NOON, request } from './sample.ts';

const DIGEST = approvalDigest(BINDING);
const EXPIRY = NOON + LIFE_MS;

function world() {
  const store = openStore(tempDir(), approvalMigrations);
  return {
    store,
    ask: (wishes: Parameters<typeof request>[0]) => store.transact((tx) => ask(tx, request(wishes))),
    decide: (wishes: Parameters<typeof answer>[0]) => store.transact((tx) => decide(tx, answer(wishes))),
    use: (id: string, callId: string, nowMs = NOON + 2) => store.transact((tx) => use(tx, id, callId, nowMs)),
    kind: (nowMs = NOON + 2, run: string | null = null) =>
      approvalState(store, { digest: DIGEST, run }, nowMs).kind,
  };
}

describe('approvalDigest()', () => {
  const others: { [K in keyof ApprovalBinding]: ApprovalBinding[K] } = {
    tenant: 'acme',
    principal: 'agent:bob',
    tool: 'palisade.wake',
    toolDigest: digestBytes('another tool'),
    inputDigest: digestBytes('{"ms":60001}'),
    artifacts: [{ name: 'module', sha256: digestBytes('another module') }],
    policySet: digestBytes('other policies'),
  };

  it.each(Object.keys(others) as (keyof ApprovalBinding)[])('differs when %s differs', (part) => {
    expect(approvalDigest({ ...BINDING, [part]: others[part] })).not.toBe(DIGEST);
  });

  it('is the digest of exactly these parts, whatever else comes along', () => {
    expect(DIGEST).toBe(digestValue(BINDING));
    expect(approvalDigest({ ...BINDING, note: 'x' } as ApprovalBinding)).toBe(DIGEST);
  });
});

describe('ask()', () => {
  it('opens one question, which identical calls find', () => {
    const { ask: asked, kind } = world();
    const first = asked({ id: 'apr_1' });
    expect(first).toMatchObject({
      isNew: true,
      approval: { id: 'apr_1', digest: DIGEST, state: 'pending', policies: ['long-sleeps'], decidedBy: null },
    });
    expect(asked({ id: 'apr_2', nowMs: NOON + 5 })).toEqual({ approval: first.approval, isNew: false });
    expect(kind()).toBe('pending');
  });

  it('opens another question for another call', () => {
    const { ask: asked } = world();
    asked({ id: 'apr_1' });
    const binding = { ...BINDING, inputDigest: digestBytes('{"ms":60001}') };
    expect(asked({ id: 'apr_2', binding })).toMatchObject({ isNew: true, approval: { id: 'apr_2' } });
  });

  it('opens a new question when the old one expired', () => {
    const { ask: asked, kind } = world();
    asked({ id: 'apr_1' });
    expect(kind(EXPIRY)).toBe('expired');
    expect(asked({ id: 'apr_2', nowMs: EXPIRY })).toMatchObject({ isNew: true });
    expect(kind(EXPIRY)).toBe('pending');
  });
});

describe('approvalState()', () => {
  it('is none for a call nobody asked about', () => {
    expect(world().kind()).toBe('none');
  });

  it('tells who approved and when, until the expiry', () => {
    const { store, ask: asked, decide: decided, kind } = world();
    asked({ id: 'apr_1' });
    decided({ id: 'apr_1' });
    expect(approvalState(store, { digest: DIGEST, run: null }, EXPIRY - 1)).toMatchObject({
      kind: 'approved',
      fact: { id: 'apr_1', by: 'user:grace', atMs: NOON + 1 },
    });
    expect(kind(EXPIRY)).toBe('expired');
  });

  it('is denied until the expiry, then as if never asked', () => {
    const { ask: asked, decide: decided, kind } = world();
    asked({ id: 'apr_1' });
    decided({ id: 'apr_1', verdict: 'denied' });
    expect(kind(EXPIRY - 1)).toBe('denied');
    expect(kind(EXPIRY)).toBe('none');
  });

  it('looks at the newest question, also when the clock was set back', () => {
    const { ask: asked, decide: decided, use: used, kind } = world();
    asked({ id: 'apr_z', nowMs: NOON });
    decided({ id: 'apr_z' });
    used('apr_z', 'call_1');
    asked({ id: 'apr_a', nowMs: NOON - 1_000 });
    expect(kind()).toBe('pending');
  });
});

describe('use()', () => {
  it('lets one call have an approval, and no second one', () => {
    const { store, ask: asked, decide: decided, use: used, kind } = world();
    asked({ id: 'apr_1' });
    decided({ id: 'apr_1' });
    expect(used('apr_1', 'call_1')).toBe(true);
    expect(used('apr_1', 'call_1')).toBe(false);
    expect(used('apr_1', 'call_2')).toBe(false);
    expect(show(store, 'apr_1')).toMatchObject({ state: 'used', usedByCall: 'call_1' });
    expect(kind()).toBe('none');
  });

  it.each([
    ['pending', null, NOON + 2, false],
    ['denied', 'denied', NOON + 2, false],
    ['approved', 'approved', EXPIRY - 1, true],
    ['expired', 'approved', EXPIRY, false],
  ] as const)('on a %s request', (_, verdict, nowMs, expected) => {
    const { ask: asked, decide: decided, use: used } = world();
    asked({ id: 'apr_1' });
    if (verdict !== null) decided({ id: 'apr_1', verdict });
    expect(used('apr_1', 'call_1', nowMs)).toBe(expected);
  });

  it('knows no approval that was never asked for', () => {
    expect(world().use('apr_none', 'call_1')).toBe(false);
  });

  it('gives the approval back when the transaction of the call fails', () => {
    const { store, ask: asked, decide: decided, use: used } = world();
    asked({ id: 'apr_1' });
    decided({ id: 'apr_1' });
    const failing = () =>
      store.transact((tx) => {
        use(tx, 'apr_1', 'call_1', NOON + 2);
        throw new Error('the journal could not be written');
      });
    expect(failing).toThrow('the journal could not be written');
    expect(used('apr_1', 'call_2')).toBe(true);
  });
});

describe('an approval that lasts', () => {
  const HOUR_MS = 3_600_000;

  it('is for every identical call until it expires, and is not used up', () => {
    const { ask: asked, decide: decided, use: used, kind } = world();
    asked({ id: 'apr_1' });
    decided({ id: 'apr_1', lasting: { lasts: 'time', forMs: HOUR_MS } });
    for (const call of ['call_1', 'call_2', 'call_3']) expect(used('apr_1', call)).toBe(true);
    expect(kind(NOON + HOUR_MS)).toBe('approved');
    expect(kind(NOON + HOUR_MS + 1)).toBe('expired');
    expect(used('apr_1', 'call_4', NOON + HOUR_MS + 1)).toBe(false);
  });

  it('for a run is for no other run, and none for calls without one, also after they asked', () => {
    const { ask: asked, decide: decided, kind } = world();
    asked({ id: 'apr_1', run: 'session-1' });
    decided({ id: 'apr_1', lasting: { lasts: 'run', forMs: HOUR_MS } });
    expect(kind(NOON + 2, 'session-1')).toBe('approved');
    for (const other of ['session-2', '', null]) expect(kind(NOON + 2, other)).toBe('none');
    asked({ id: 'apr_2', run: 'session-2', nowMs: NOON + 2 });
    expect(kind(NOON + 3, 'session-2')).toBe('pending');
    expect(kind(NOON + 3, 'session-1')).toBe('approved');
  });

  it('can be withdrawn, and then is asked for again; one for a single call stays final', () => {
    const { ask: asked, decide: decided, use: used, kind } = world();
    asked({ id: 'apr_1' });
    decided({ id: 'apr_1', lasting: { lasts: 'time', forMs: HOUR_MS } });
    expect(decided({ id: 'apr_1', verdict: 'denied', nowMs: NOON + 5 })).toMatchObject({ ok: true });
    expect(used('apr_1', 'call_1', NOON + 6)).toBe(false);
    expect(kind(NOON + 6)).toBe('none');
    asked({ id: 'apr_2', nowMs: NOON + 7 });
    decided({ id: 'apr_2', nowMs: NOON + 8 });
    expect(decided({ id: 'apr_2', verdict: 'denied', nowMs: NOON + 9 })).toMatchObject({
      ok: false,
      code: 'approval/not-pending',
    });
    expect(kind(NOON + 10)).toBe('approved');
  });

  it('is given by people alone', () => {
    const { ask: asked, decide: decided, kind } = world();
    asked({ id: 'apr_1' });
    const by = { kind: 'agent', name: 'ada' } as const;
    expect(decided({ id: 'apr_1', by, lasting: { lasts: 'time', forMs: HOUR_MS } })).toMatchObject({
      ok: false,
    });
    expect(kind()).toBe('pending');
  });
});
