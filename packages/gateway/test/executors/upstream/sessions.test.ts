import { describe, expect, test, vi } from 'vitest';
import type { Principal } from '../../../src/core/principal.ts';
import type { Session } from '../../../src/executors/upstream/session.ts';
import { Sessions, type SessionsOptions } from '../../../src/executors/upstream/sessions.ts';

const ADA: Principal = { kind: 'agent', name: 'ada' };
const BOB: Principal = { kind: 'agent', name: 'bob' };

/** Stands for a session: it only remembers why it was ended. */
class FakeSession {
  isOver = false;
  isOutdated = false;
  why: string | null = null;
  readonly openedMs: number;
  readonly ended: Promise<void>;
  #settle: () => void = () => undefined;

  constructor(openedMs: number) {
    this.openedMs = openedMs;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  open() {
    return Promise.resolve({ kind: 'accepted' } as const);
  }

  end(why: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.why = why;
    this.#settle();
  }
}

function open(wishes: Partial<SessionsOptions> = {}) {
  const started: FakeSession[] = [];
  const time = { ms: 0 };
  const sessions = new Sessions({
    start: () => {
      const session = new FakeSession(time.ms);
      started.push(session);
      return session as unknown as Session;
    },
    ...{ idleMs: 60_000, most: 4, lifeMs: 1000, monotonicMs: () => time.ms, ...wishes },
  });
  const use = (principal = ADA, upstream = 'files', act: () => Promise<unknown> = async () => null) =>
    sessions.use(upstream, { principal, tenant: 'default' }, 400, act);
  return { sessions, started, time, use };
}

describe('sessions', () => {
  test('are shared by the calls of one principal with one server, and by nobody else', async () => {
    const { started, use } = open();
    await Promise.all([use(), use(), use(BOB), use(ADA, 'other')]);
    await use();
    expect(started).toHaveLength(3);
  });

  test('are replaced when a call may outlive them, and end when those who use them are done', async () => {
    const { started, time, use } = open();
    let finish: () => void = () => undefined;
    const long = use(
      ADA,
      'files',
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    await vi.waitFor(() => expect(started).toHaveLength(1));
    time.ms = 700;
    await use();
    expect(started).toHaveLength(2);
    expect(started[0]?.why).toBeNull();
    finish();
    await long;
    expect(started[0]?.why).toMatch(/long enough/);
  });

  test('are replaced when they have ended, or when other policies are in force', async () => {
    const { started, use } = open();
    await use();
    started[0]?.end('crashed');
    await use();
    const second = started[1];
    if (second !== undefined) second.isOutdated = true;
    await use();
    expect(started).toHaveLength(3);
  });

  test('end when nobody needs them any more', async () => {
    const { started, use } = open({ idleMs: 1 });
    await use();
    await vi.waitFor(() => expect(started[0]?.why).toBe('it was not used'));
  });

  test('are so many and no more: the one that is idle for longest makes room, and one in use does not', async () => {
    const { started, time, use } = open({ most: 2 });
    await use(ADA, 'a');
    time.ms = 1;
    await use(ADA, 'b');
    await use(ADA, 'c');
    expect(started.map(({ why }) => why)).toEqual(['another session needed its place', null, null]);
    const held = [
      use(ADA, 'b', () => new Promise(() => undefined)),
      use(ADA, 'c', () => new Promise(() => undefined)),
    ];
    await expect(use(ADA, 'd')).rejects.toThrow(/2 sessions are in use/);
    expect(held).toHaveLength(2);
  });

  test('end all together when their server must not run, and when the gateway closes', async () => {
    const { sessions, started, use } = open();
    await Promise.all([use(), use(BOB), use(ADA, 'other')]);
    sessions.endAll('files', 'changed');
    expect(started.map(({ why }) => why)).toEqual(['changed', 'changed', null]);
    await sessions.close();
    expect(started[2]?.why).toMatch(/closed/);
    await expect(use()).rejects.toThrow(/about to close/);
  });
});
