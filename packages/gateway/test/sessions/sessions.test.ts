import { describe, expect, onTestFinished, test } from 'vitest';
import {
  beginSession,
  currentSession,
  endSession,
  enterSession,
  findSession,
  keyOf,
  leaveSession,
  listSessions,
  namedSession,
  type SessionKey,
} from '../../src/sessions/sessions.ts';
import { sessionMigrations } from '../../src/sessions/tables.ts';
import { Store } from '../../src/store/store.ts';
import { ADA, NOON } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const IDLE = 60_000;
const at = (ms: number) => ({ nowMs: NOON + ms, idleMs: IDLE });
const KEY = keyOf({ principal: ADA, tenant: 'default', source: { credential: 'token:tok_1' } });

function openStore() {
  const store = new Store({
    ...{ directory: tempDir(), migrations: sessionMigrations, busyTimeoutMs: 1_000, nowMs: NOON },
  });
  onTestFinished(() => store.close());
  const enter = (id: string, ms = 0, key: SessionKey = KEY) =>
    store.transact((tx) => enterSession(tx, id, key, at(ms)));
  return { store, enter };
}

describe('a session', () => {
  test('begins with its first call and is the same for each call of its key', () => {
    const { store, enter } = openStore();
    expect(currentSession(store, KEY, at(0))).toBeNull();
    expect(enter('ses_1')).toBe(true);
    expect(currentSession(store, KEY, at(1))).toBe('ses_1');
    expect(enter('ses_1', 2)).toBe(true);
  });

  test('is entered by one of two calls that would begin it at once', () => {
    const { store, enter } = openStore();
    expect([enter('ses_1'), enter('ses_2')]).toEqual([true, false]);
    expect(
      listSessions(store, { ...at(0), tenant: null, principal: null, after: null, limit: 9 }),
    ).toHaveLength(1);
  });

  test.each([
    ['tenant', { tenant: 'acme' }],
    ['principal', { principal: 'agent:bob' }],
    ['credential', { credential: 'token:tok_2' }],
    ['device', { device: 'kiosk' }],
    ['channel', { channel: 'nightly' }],
  ])('is of one %s', (_, other) => {
    const { store, enter } = openStore();
    enter('ses_1');
    const key = { ...KEY, ...other };
    expect(currentSession(store, key, at(0))).toBeNull();
    expect(namedSession(store, 'ses_1', key, at(0)).ok).toBe(false);
    expect(enter('ses_2', 0, key)).toBe(true);
    expect([currentSession(store, KEY, at(0)), currentSession(store, key, at(0))]).toEqual([
      'ses_1',
      'ses_2',
    ]);
  });

  test('is over to the millisecond after it was idle, and then another begins', () => {
    const { store, enter } = openStore();
    enter('ses_1');
    enter('ses_1', 30_000);
    expect(currentSession(store, KEY, at(30_000 + IDLE - 1))).toBe('ses_1');
    expect(currentSession(store, KEY, at(30_000 + IDLE))).toBeNull();
    expect([enter('ses_1', 30_000 + IDLE), enter('ses_2', 30_000 + IDLE)]).toEqual([false, true]);
    const first = findSession(store, 'ses_1', at(30_000 + IDLE));
    expect(first).toMatchObject({ endedAtMs: NOON + 30_000 + IDLE, endedBy: null });
  });

  test('is kept alive by a call that ends', () => {
    const { store, enter } = openStore();
    enter('ses_1');
    store.transact((tx) => leaveSession(tx, 'ses_1', NOON + IDLE - 1));
    expect(currentSession(store, KEY, at(IDLE))).toBe('ses_1');
  });

  test('is not over because the clock was set back', () => {
    const { store, enter } = openStore();
    enter('ses_1');
    expect(currentSession(store, KEY, at(-10 * IDLE))).toBe('ses_1');
  });

  test('that was ended is entered by no call, and kept alive by none', () => {
    const { store, enter } = openStore();
    enter('ses_1');
    const end = () => store.transact((tx) => endSession(tx, 'ses_1', 'user:grace', at(1)));
    expect([end(), end()]).toEqual([true, false]);
    store.transact((tx) => leaveSession(tx, 'ses_1', NOON + 5_000));
    expect(findSession(store, 'ses_1', at(2))).toMatchObject({ endedBy: 'user:grace', usedAtMs: NOON });
    expect([enter('ses_1', 2), enter('ses_2', 2)]).toEqual([false, true]);
  });
});

describe('a session that a credential begins', () => {
  const begin = (store: Store, id: string, ms = 0, allowance = 2) =>
    store.transact((tx) => beginSession(tx, { id, key: KEY, label: 'a talk', allowance }, at(ms)));

  test('is in addition to its own, and only for calls that name it', () => {
    const { store, enter } = openStore();
    enter('ses_1');
    expect(begin(store, 'ses_2')).toMatchObject({ ok: true, value: { isBegun: true, label: 'a talk' } });
    expect(currentSession(store, KEY, at(0))).toBe('ses_1');
    expect(namedSession(store, 'ses_2', KEY, at(0))).toEqual({ ok: true, value: 'ses_2' });
    expect(namedSession(store, 'ses_3', KEY, at(0)).ok).toBe(false);
  });

  test('counts against its allowance also when it was ended, until the time of a session has passed', () => {
    const { store } = openStore();
    begin(store, 'ses_1');
    store.transact((tx) => endSession(tx, 'ses_1', 'service:ci', at(1)));
    expect([begin(store, 'ses_2', 1).ok, begin(store, 'ses_3', 2).ok]).toEqual([true, false]);
    expect([begin(store, 'ses_3', IDLE - 1).ok, begin(store, 'ses_3', IDLE).ok]).toEqual([false, true]);
  });

  test('counts for as long as it is open', () => {
    const { store, enter } = openStore();
    begin(store, 'ses_1', 0, 1);
    for (const ms of [40_000, 80_000, 120_000]) expect(enter('ses_1', ms)).toBe(true);
    expect(begin(store, 'ses_2', 150_000, 1).ok).toBe(false);
    expect(begin(store, 'ses_2', 120_000 + IDLE, 1).ok).toBe(true);
  });
});
