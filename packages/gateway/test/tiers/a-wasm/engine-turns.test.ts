import { describe, expect, it } from 'vitest';
import { CALL, LISTENERS, samplePool } from './sample-pool.ts';

const PATIENCE = { timeout: 5_000 };

describe('turns in engines', () => {
  /** Who waits for the one engine that computes, in the order of being served. */
  async function served(owners: readonly string[]) {
    const { pool, use } = samplePool({ size: 1, most: 8 });
    const engine = await pool.take('ada');
    const order: string[] = [];
    const ended = owners.map((owner) =>
      pool.take(owner).then((taken) => {
        order.push(owner);
        return use(taken);
      }),
    );
    // Their engines have begun.
    await expect.poll(() => pool.census.starting, PATIENCE).toBe(0);
    await use(engine);
    await Promise.all(ended);
    expect(pool.census).toMatchObject({ busy: 0, waiting: 0 });
    return order;
  }

  it('are in the order of coming, where all are of one tenant or each of another', async () => {
    expect(await served(['grace', 'alan', 'edsger'])).toEqual(['grace', 'alan', 'edsger']);
    expect(await served(['ada', 'ada', 'ada'])).toEqual(['ada', 'ada', 'ada']);
  });

  it('go around, however many calls one tenant has', async () => {
    const order = await served([...Array.from({ length: 20 }, () => 'grace'), 'alan', 'edsger']);
    expect(order.slice(0, 4).sort()).toEqual(['alan', 'edsger', 'grace', 'grace']);
  });

  it('are left by a guest that waits for an answer, and taken again when they are free', async () => {
    const { pool, ask, use } = samplePool({ size: 1 });
    const waiting = ask(await pool.take('ada'));
    await expect.poll(() => pool.census.paused, PATIENCE).toBe(1);
    const other = await pool.take('grace');
    expect(pool.census).toMatchObject({ busy: 2, paused: 1 });
    waiting.answer();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(waiting.isAnswered()).toBe(false);
    await use(other);
    await expect.poll(waiting.isAnswered, PATIENCE).toBe(true);
    expect(pool.census.paused).toBe(0);
    await waiting.finish();
    expect(pool.census).toMatchObject({ busy: 0, idle: 2 });
  });

  it('are not left for an answer that comes soon', async () => {
    const { pool, ask } = samplePool({ size: 1 });
    const waiting = ask(await pool.take('ada'));
    waiting.answer();
    await expect.poll(waiting.isAnswered, PATIENCE).toBe(true);
    expect(pool.census).toMatchObject({ busy: 1, paused: 0 });
    await waiting.finish();
  });

  it('are left by a guest that has waited for long in short waits', async () => {
    const { pool, fakes, time } = samplePool({ size: 1 });
    const engine = await pool.take('ada');
    const end = engine.run(CALL, {
      ...LISTENERS,
      onRequest: async () => {
        time.nowMs += 5;
        return { result: 0 };
      },
    });
    const ask = { name: 'channel_receive', numbers: [40_000, 5], lengths: [] };
    const isServed = { grace: false };
    const other = pool.take('grace').then((taken) => {
      isServed.grace = true;
      return taken;
    });
    let requested = 0;
    while (!isServed.grace) {
      requested += 1;
      fakes[0]?.say('ask', ask);
      const answers = () => fakes[0]?.heard.filter(({ kind }) => kind === 'answer').length;
      await expect.poll(() => isServed.grace || answers() === requested, PATIENCE).toBe(true);
    }
    expect(requested).toBe(5);
    pool.giveBack(await other);
    engine.end('the test is over');
    await end;
    pool.giveBack(engine);
  });

  it('of one tenant whose guests all wait are at most half of the engines; the others are served at once', async () => {
    const { pool, ask, use } = samplePool({ size: 2, most: 8 });
    const takes = Array.from({ length: 20 }, () => pool.take('hostile').then((engine) => ask(engine)));
    await expect.poll(() => pool.census.paused, PATIENCE).toBe(4);
    expect(pool.census).toMatchObject({ busy: 4, waiting: 16 });
    for (const owner of ['ada', 'grace', 'ada']) await use(await pool.take(owner));
    expect(pool.census).toMatchObject({ busy: 4, paused: 4, waiting: 16 });
    const refused = Promise.allSettled(takes.slice(4));
    await pool.close();
    expect(new Set((await refused).map(({ status }) => status))).toEqual(new Set(['rejected']));
  });

  it('are not waited for by who was aborted, and nothing of it stays', async () => {
    const { pool, fakes, use } = samplePool({ size: 1 });
    const engine = await pool.take('ada');
    const stop = new AbortController();
    const left = ['ada', 'grace', 'ada'].map((owner) => pool.take(owner, stop.signal));
    const stays = pool.take('ada');
    expect(pool.census.waiting).toBe(4);
    stop.abort();
    for (const each of left) await expect(each).rejects.toMatchObject({ code: 'tier/cancelled' });
    expect(pool.census.waiting).toBe(1);
    await expect(pool.take('ada', stop.signal)).rejects.toMatchObject({ code: 'tier/cancelled' });
    await use(engine);
    expect(await stays).toBe(engine);
    expect(fakes.length).toBeLessThanOrEqual(2);
    pool.giveBack(engine);
    await expect.poll(() => pool.census, PATIENCE).toMatchObject({ busy: 0, waiting: 0, starting: 0 });
  });

  it('are not waited for by more than some thousands, of which one tenant is half', async () => {
    const { pool } = samplePool({ size: 1 });
    const engine = await pool.take('ada');
    const waits = Array.from({ length: 2_048 }, () => pool.take('ada').catch(() => null));
    await expect(pool.take('ada')).rejects.toThrow('2048 calls of this tenant wait');
    const others = Array.from({ length: 2_048 }, (_, index) => pool.take(`t${index}`).catch(() => null));
    await expect(pool.take('grace')).rejects.toThrow('4096 calls wait');
    engine.end('the test is over');
    await pool.close();
    expect(new Set(await Promise.all([...waits, ...others]))).toEqual(new Set([null]));
  });
});
