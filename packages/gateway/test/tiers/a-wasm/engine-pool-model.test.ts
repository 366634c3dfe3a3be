/** Whatever calls do and whatever becomes of engines, everybody is told, and nothing stays that nobody holds. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import type { EngineProcess } from '../../../src/tiers/a-wasm/engine-process.ts';
import { type FakeEngine, fakeEngine } from './fake-engine.ts';
import { type SamplePool, samplePool } from './sample-pool.ts';

type Act = 'take' | 'leave' | 'use' | 'kill' | 'giveBack';
type Terms = { readonly size: number; readonly most: number; readonly failsEach: number };

const OWNERS = ['ada', 'grace', 'alan'];
const act = fc.constantFrom<Act>('take', 'take', 'take', 'leave', 'use', 'kill', 'giveBack');
const acts = fc.array(fc.tuple(act, fc.nat(60)), { minLength: 10, maxLength: 60 });
const terms = fc.record({
  size: fc.constantFrom(1, 2),
  most: fc.constantFrom(1, 2, 5),
  failsEach: fc.constantFrom(2, 3, Number.POSITIVE_INFINITY),
});

/** Lets everything happen that happens by itself. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

class Life {
  readonly fakes: FakeEngine[] = [];
  readonly had: EngineProcess[] = [];
  readonly sample: SamplePool;
  readonly #leaving: AbortController[] = [];
  unreported = 0;
  #starts = 0;

  constructor({ size, most, failsEach }: Terms) {
    const start = async () => {
      this.#starts += 1;
      if (this.#starts % failsEach === 0) throw new Error('no engine this time');
      const fake = fakeEngine();
      this.fakes.push(fake);
      fake.say('ready', {});
      return fake.ends;
    };
    this.sample = samplePool({ size, most, start });
  }

  do(what: Act, at: number): void {
    const { pool } = this.sample;
    if (what === 'take') this.#take(OWNERS[at % OWNERS.length] ?? '');
    if (what === 'leave') this.#leaving[at % this.#leaving.length]?.abort();
    if (what === 'kill') this.fakes[at % this.fakes.length]?.ends.kill();
    const engine = what === 'use' || what === 'giveBack' ? this.had.shift() : undefined;
    if (engine === undefined) return;
    if (what === 'use') engine.calls += 1;
    pool.giveBack(engine);
  }

  #take(owner: string): void {
    const leaving = new AbortController();
    this.#leaving.push(leaving);
    this.unreported += 1;
    this.sample.pool
      .take(owner, leaving.signal)
      .then((engine) => this.had.push(engine))
      .catch(() => undefined)
      .finally(() => {
        this.unreported -= 1;
      });
  }
}

describe('a pool of engines, whatever happens', () => {
  it('tells everybody who waits, and holds nothing when all are gone', async () => {
    const judge = async (list: readonly (readonly [Act, number])[], options: Terms) => {
      const life = new Life(options);
      const { pool } = life.sample;
      for (const [what, at] of list) {
        life.do(what, at);
        await settle();
        const { busy, idle, starting, waiting } = pool.census;
        expect([busy, waiting]).toEqual([life.had.length, life.unreported]);
        expect(busy).toBeLessThanOrEqual(options.size);
        expect(busy + idle + starting).toBeLessThanOrEqual(Math.max(options.size, options.most));
      }
      // Whoever has an engine gives it back, and nobody waits in the end.
      while (life.had.length > 0) {
        life.do('giveBack', 0);
        await settle();
      }
      expect(life.unreported).toBe(0);
      await pool.close();
      const { started, ended, idle } = pool.census;
      expect([started, ended, idle]).toEqual([life.fakes.length, life.fakes.length, 0]);
    };
    await fc.assert(fc.asyncProperty(acts, terms, judge), {
      numRuns: volume(100, 30),
      interruptAfterTimeLimit: 20_000,
    });
  });
});
