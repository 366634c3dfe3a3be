import { describe, expect, it, onTestFinished } from 'vitest';
import { EnginePool } from '../../../src/tiers/a-wasm/engine-pool.ts';
import type { EngineProcess } from '../../../src/tiers/a-wasm/engine-process.ts';
import { DONE, type FakeEngine, fakeEngine } from './fake-engine.ts';
import { sampleHead } from './sample-engine.ts';

const EARS = { onAsk: async () => ({ result: -1 }), onLog: () => undefined };
const CALL = {
  module: { key: 'module-1', bytes: new Uint8Array(8) },
  head: sampleHead(),
  input: new Uint8Array(2),
};

function open(size: number) {
  const fakes: FakeEngine[] = [];
  const pool = new EnginePool({
    size,
    start: async () => {
      const fake = fakeEngine();
      fakes.push(fake);
      fake.say('ready', {});
      return fake.ends;
    },
  });
  onTestFinished(() => pool.close());
  /** Runs a call in an engine, and gives it back. */
  const use = async (engine: EngineProcess) => {
    const end = engine.run(CALL, EARS);
    for (const fake of fakes) if (fake.ends.isolation === engine.isolation) fake.say('done', DONE);
    expect(await end).toMatchObject({ kind: 'done' });
    pool.giveBack(engine);
  };
  return { pool, fakes, use };
}

describe('a pool of engines', () => {
  it('gives an engine to the next call of its tenant, and to no other tenant', async () => {
    const { pool, fakes, use } = open(1);
    const first = await pool.take('ada');
    await use(first);
    expect(await pool.take('ada')).toBe(first);
    await use(first);
    const other = await pool.take('grace');
    expect(other).not.toBe(first);
    expect([first.isGone, fakes.length]).toEqual([true, 2]);
  });

  it('keeps the engines of several tenants while there is room', async () => {
    const { pool, use } = open(2);
    const ada = await pool.take('ada');
    await use(ada);
    const grace = await pool.take('grace');
    await use(grace);
    expect([await pool.take('ada'), await pool.take('grace')]).toEqual([ada, grace]);
  });

  it('gives one in which nothing ran to anybody', async () => {
    const { pool, fakes } = open(1);
    const engine = await pool.take('ada');
    pool.giveBack(engine);
    expect(await pool.take('grace')).toBe(engine);
    expect(fakes.length).toBe(1);
  });

  it('serves those who wait in the order of coming, each with an engine of its tenant', async () => {
    const { pool, use } = open(1);
    const engine = await pool.take('ada');
    const order: string[] = [];
    const waiting = ['grace', 'ada', 'ada'].map((owner) =>
      pool.take(owner).then((taken) => {
        order.push(owner);
        return taken;
      }),
    );
    await use(engine);
    const taken: EngineProcess[] = [];
    for (const each of waiting) {
      const next = await each;
      taken.push(next);
      await use(next);
    }
    expect(order).toEqual(['grace', 'ada', 'ada']);
    expect(taken[0]).not.toBe(engine);
    expect(taken[1]).not.toBe(taken[0]);
    expect(taken[2]).toBe(taken[1]);
    expect(pool.census).toEqual({ size: 1, idle: 1, busy: 0, waiting: 0 });
  });

  it('replaces one that died while it stood idle, and one that died in a call', async () => {
    const { pool, fakes, use } = open(1);
    const engine = await pool.take('ada');
    await use(engine);
    engine.end('somebody killed it');
    const second = await pool.take('ada');
    expect(second).not.toBe(engine);
    const waits = pool.take('ada');
    const end = second.run(CALL, EARS);
    fakes[1]?.sayBytes(Buffer.from([255, 255, 255, 255]));
    expect(await end).toMatchObject({ kind: 'gone' });
    pool.giveBack(second);
    expect((await waits).isGone).toBe(false);
    expect(pool.census).toEqual({ size: 1, idle: 0, busy: 1, waiting: 0 });
  });

  it('that is closed turns away who waits and who comes, and ends what runs', async () => {
    const { pool } = open(1);
    const engine = await pool.take('ada');
    const end = engine.run(CALL, EARS);
    const waits = expect(pool.take('ada')).rejects.toThrow('closing');
    await pool.close();
    await waits;
    expect(await end).toMatchObject({ kind: 'gone' });
    expect(() => pool.take('ada')).toThrow('closing');
  });
});
