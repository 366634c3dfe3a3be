import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CodedError } from '../../../src/core/coded-error.ts';
import { type FakeEngine, fakeEngine } from './fake-engine.ts';
import { CALL, LISTENERS, samplePool } from './sample-pool.ts';

const HOUR_MS = 60 * 60_000;

describe('a pool of engines', () => {
  it('gives an engine to the next call of its tenant, and to no other tenant', async () => {
    const { pool, fakes, use } = samplePool({ most: 1 });
    const first = await pool.take('ada');
    await use(first);
    expect(await pool.take('ada')).toBe(first);
    await use(first);
    const other = await pool.take('grace');
    expect(other).not.toBe(first);
    expect([first.isGone, fakes.length]).toEqual([true, 2]);
  });

  it('keeps the engines of several tenants up to the maximum, and ends the longest idle one', async () => {
    const { pool, use } = samplePool({ most: 3 });
    const useOf = async (owner: string) => {
      const engine = await pool.take(owner);
      await use(engine);
      return engine;
    };
    const [ada, grace, alan] = [await useOf('ada'), await useOf('grace'), await useOf('alan')];
    // Ada's is used again, so that of Grace stands longest.
    await useOf('ada');
    await useOf('edsger');
    expect([ada, grace, alan].map(({ isGone }) => isGone)).toEqual([false, true, false]);
    expect(pool.census).toMatchObject({ idle: 3, busy: 0, started: 4 });
  });

  it('keeps no more than compute at once where memory is short', async () => {
    const { pool, use } = samplePool({ size: 2, hasMemory: () => false });
    for (const owner of ['ada', 'grace', 'alan', 'edsger']) await use(await pool.take(owner));
    expect(pool.census).toMatchObject({ idle: 2, started: 4 });
  });

  it('gives one in which nothing ran to anybody', async () => {
    const { pool, fakes } = samplePool();
    const engine = await pool.take('ada');
    pool.giveBack(engine);
    expect(await pool.take('grace')).toBe(engine);
    expect(fakes.length).toBe(1);
  });

  it('that is warm gives each engine as it starts, and always has one for a tenant that is new', async () => {
    const { pool, fakes, use } = samplePool({ size: 2 });
    await pool.warm();
    expect(pool.census).toMatchObject({ idle: 2, starting: 0 });
    for (const owner of ['ada', 'grace', 'alan', 'edsger']) {
      await expect.poll(() => pool.census.starting).toBe(0);
      const before = fakes.length;
      const engine = await pool.take(owner);
      expect(fakes.findIndex(({ ends }) => ends.isolation === engine.isolation)).toBeLessThan(before);
      await use(engine);
    }
  });

  it('that is warm serves with the first engine that begins while another does not', async () => {
    const fakes: FakeEngine[] = [];
    const { pool } = samplePool({
      size: 2,
      start: async () => {
        const fake = fakeEngine();
        fakes.push(fake);
        if (fakes.length === 2) fake.say('ready', {});
        return fake.ends;
      },
    });
    void pool.warm();
    expect((await pool.take('ada')).isolation).toBe(fakes[1]?.ends.isolation);
  });

  it('replaces one that died while it stood idle, and one that died in a call', async () => {
    const { pool, fakes, use } = samplePool();
    const engine = await pool.take('ada');
    await use(engine);
    engine.end('somebody killed it');
    const second = await pool.take('ada');
    expect(second).not.toBe(engine);
    const waits = pool.take('ada');
    const end = second.run(CALL, LISTENERS);
    fakes[1]?.sayBytes(Buffer.from([255, 255, 255, 255]));
    expect(await end).toMatchObject({ kind: 'gone' });
    pool.giveBack(second);
    expect((await waits).isGone).toBe(false);
    expect(pool.census).toMatchObject({ idle: 0, busy: 1, waiting: 0 });
  });

  it('replaces an engine by its age between calls, and never in one', async () => {
    const { pool, time, use } = samplePool();
    const engine = await pool.take('ada');
    const end = engine.run(CALL, LISTENERS);
    time.nowMs = 30 * HOUR_MS;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(engine.isGone).toBe(false);
    engine.end('the test is over');
    await end;
    pool.giveBack(engine);
    const young = await pool.take('ada');
    await use(young);
    expect(young.isGone).toBe(false);
    time.nowMs += HOUR_MS;
    expect(await pool.take('ada')).not.toBe(young);
    expect(young).toMatchObject({ isGone: true, why: 'it has run enough' });
  });

  it('ends what stands idle for long beyond those that compute at once', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { pool, use } = samplePool({ size: 1 });
    for (const owner of ['ada', 'grace', 'alan']) await use(await pool.take(owner));
    expect(pool.census.idle).toBe(3);
    vi.advanceTimersByTime(11 * 60_000);
    expect(pool.census.idle).toBe(1);
  });

  it('tells everybody who waits where no engine can be started, with what to do', async () => {
    let starts = 0;
    const { pool } = samplePool({
      start: () => {
        starts += 1;
        return Promise.reject(new Error('there is no room on the device'));
      },
    });
    const reported = await Promise.allSettled(['ada', 'grace', 'ada'].map((owner) => pool.take(owner)));
    for (const each of reported) {
      const error = each.status === 'rejected' ? each.reason : null;
      expect(error).toBeInstanceOf(CodedError);
      expect(error).toMatchObject({ code: 'tier/not-started', remedy: expect.stringContaining('doctor') });
      expect(error.message).toBe('Cannot start engine process: there is no room on the device');
    }
    expect([starts, pool.census]).toMatchObject([3, { idle: 0, busy: 0, waiting: 0, starting: 0 }]);
  });

  it('that is warm does not start again and again what cannot be started', async () => {
    let starts = 0;
    const { pool } = samplePool({
      size: 2,
      start: () => {
        starts += 1;
        return Promise.reject(new Error('never'));
      },
    });
    await pool.warm();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(starts).toBe(2);
  });

  it('that is closed turns away who waits and who comes, and ends what runs', async () => {
    const { pool } = samplePool();
    const engine = await pool.take('ada');
    const end = engine.run(CALL, LISTENERS);
    const waits = expect(pool.take('ada')).rejects.toThrow('closing');
    await pool.close();
    await waits;
    expect(await end).toMatchObject({ kind: 'gone' });
    await expect(pool.take('ada')).rejects.toThrow('closing');
  });

  it('counts what became of engines and calls', async () => {
    const { pool, time, use } = samplePool({ most: 2 });
    await use(await pool.take('ada'));
    const engine = await pool.take('grace');
    const waits = pool.take('grace');
    time.nowMs += 1_500;
    engine.end('it died');
    pool.giveBack(engine);
    await use(await waits);
    const metrics = Object.fromEntries(pool.metrics().map(({ name, value }) => [name, value]));
    expect(metrics).toMatchObject({
      palisade_engine_calls_total: 3,
      palisade_engine_started_total: 3,
      palisade_engine_ended_fault_total: 1,
      palisade_engine_ended_evicted_total: 0,
      palisade_engine_waited_seconds_total: 1.5,
      palisade_engine_waited_seconds_max: 1.5,
      palisade_engine_idle: 2,
      palisade_engine_busy: 0,
    });
    const names = pool.metrics().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, help, kind } of pool.metrics()) {
      expect(name).toMatch(/^palisade_engine_[a-z_]+$/);
      expect(help).toMatch(/\.$/);
      expect(name.endsWith('_total')).toBe(kind === 'counter');
    }
  });
});
