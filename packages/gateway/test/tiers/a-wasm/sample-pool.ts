import { expect, onTestFinished } from 'vitest';
import { EnginePool, type PoolOptions } from '../../../src/tiers/a-wasm/engine-pool.ts';
import type { EngineEnd, EngineProcess, HostReply } from '../../../src/tiers/a-wasm/engine-process.ts';
import { DONE, type FakeEngine, fakeEngine } from './fake-engine.ts';
import { NO_FORM, sampleHead } from './sample-engine.ts';

export const CALL = {
  module: { key: 'module-1', form: NO_FORM },
  head: sampleHead(),
  input: new Uint8Array(2),
};
export const LISTENERS = { onRequest: async () => ({ result: -1 }), onLog: () => undefined };
const ASK = { name: 'channel_receive', numbers: [40_000, 60_000], lengths: [] };

export type SamplePool = {
  readonly pool: EnginePool;
  /** Every engine that was started. */
  readonly fakes: readonly FakeEngine[];
  readonly time: { nowMs: number };
  /** Runs a call in an engine, and gives it back. */
  readonly use: (engine: EngineProcess) => Promise<void>;
  /** Runs a call whose guest asks at once; it has its answer when that is given. */
  readonly ask: (engine: EngineProcess) => {
    readonly end: Promise<EngineEnd>;
    readonly answer: () => void;
    /** Whether the guest has its answer. */
    readonly isAnswered: () => boolean;
    readonly finish: () => Promise<void>;
  };
};

/** A pool of engines that do what a test says, on a clock that stands still. */
export function samplePool(options: Partial<PoolOptions> = {}): SamplePool {
  const fakes: FakeEngine[] = [];
  const time = { nowMs: 0 };
  const pool = new EnginePool({
    ...{ size: 1, most: 8, clock: { monotonicMs: () => time.nowMs }, hasMemory: () => true },
    start: async () => {
      const fake = fakeEngine();
      fakes.push(fake);
      fake.say('ready', {});
      return fake.ends;
    },
    ...options,
  });
  onTestFinished(() => pool.close());
  const fakeOf = (engine: EngineProcess) => fakes.find(({ ends }) => ends.isolation === engine.isolation);
  const finish = async (engine: EngineProcess, end: Promise<EngineEnd>) => {
    fakeOf(engine)?.say('done', DONE);
    expect(await end).toMatchObject({ kind: 'done' });
    pool.giveBack(engine);
  };
  return {
    ...{ pool, fakes, time },
    use: (engine) => finish(engine, engine.run(CALL, LISTENERS)),
    ask: (engine) => {
      let answer: () => void = () => undefined;
      const replied = new Promise<HostReply>((resolve) => {
        answer = () => resolve({ result: 0 });
      });
      const end = engine.run(CALL, { ...LISTENERS, onRequest: () => replied });
      fakeOf(engine)?.say('ask', ASK);
      const isAnswered = () => fakeOf(engine)?.heard.at(-1)?.kind === 'answer';
      return { end, answer, isAnswered, finish: () => finish(engine, end) };
    },
  };
}
