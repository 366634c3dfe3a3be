import { describe, expect, it, onTestFinished } from 'vitest';
import { CodedError } from '../../../src/core/coded-error.ts';
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

  /** Who waits, in the order of being served, and the engines that each was given. */
  async function served(owners: readonly string[]) {
    const { pool, fakes, use } = open(1);
    const engine = await pool.take('ada');
    const order: string[] = [];
    const ended = owners.map((owner) =>
      pool.take(owner).then((taken) => {
        order.push(owner);
        return use(taken);
      }),
    );
    await use(engine);
    await Promise.all(ended);
    expect(pool.census).toEqual({ size: 1, idle: 1, busy: 0, waiting: 0 });
    return { order, engines: fakes.length };
  }

  it('serves those who wait in the order of coming, where they are of one tenant or each of another', async () => {
    const owners = ['grace', 'alan', 'edsger'];
    expect(await served(owners)).toEqual({ order: owners, engines: 4 });
    expect(await served(['ada', 'ada', 'ada'])).toEqual({ order: ['ada', 'ada', 'ada'], engines: 1 });
  });

  it('serves all of one tenant before it starts an engine for the next', async () => {
    const { order, engines } = await served(['grace', 'ada', 'alan', 'grace', 'ada', 'alan']);
    expect(order).toEqual(['ada', 'ada', 'grace', 'grace', 'alan', 'alan']);
    expect(engines).toBe(3);
  });

  it('lets nobody be passed again and again', async () => {
    const { order } = await served(['grace', ...Array.from({ length: 100 }, () => 'ada')]);
    expect(order.indexOf('grace')).toBe(32);
    expect(order).toHaveLength(101);
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

  it('tells everybody who waits where no engine can be started', async () => {
    let starts = 0;
    const pool = new EnginePool({
      size: 1,
      start: () => {
        starts += 1;
        return Promise.reject(new CodedError('tier/not-started', 'there is no room'));
      },
    });
    const told = await Promise.allSettled(['ada', 'grace', 'ada'].map((owner) => pool.take(owner)));
    expect(told.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect([starts, pool.census]).toEqual([3, { size: 1, idle: 0, busy: 0, waiting: 0 }]);
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
