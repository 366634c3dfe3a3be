import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { scratch } from '../fixtures/cli.ts';
import { REAL_PROGRAMS } from '../fixtures/real-programs/index.ts';
import { FORMS } from '../fixtures/real-programs/metered.ts';
import { bundleChild, type Ran, runOnce } from '../fixtures/real-programs/start.ts';
import { sample } from '../volume/volume.ts';

/* Programs that people use, each in a process of its own, as they are and metered. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const directory = scratch();
const built = { child: '' };

beforeAll(async () => {
  built.child = await bundleChild(ROOT, directory);
});

/** The first run of each, which later ones are compared with. */
const firsts = new Map<string, Ran>();

/** What a user of the program would see, and all that it wrote into its memories. */
function effect({ begin, bytes, digest, memories }: Ran) {
  return { begin, bytes, digest, memories };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** A few of them in a usual run, others each time. */
const programs = sample(REAL_PROGRAMS);

describe.each(programs)('$name', ({ name }) => {
  test('gives the same output and memories metered in both forms, for the same fuel', async () => {
    const sides = ['bare', 'local', 'thread'] as const;
    const [bare, local, thread] = await Promise.all(sides.map((side) => runOnce(built.child, name, side)));
    if (!bare || !local || !thread) throw new Error('Cannot compare: a run is missing');
    firsts.set(`${name} local`, local).set(`${name} thread`, thread);
    expect(bare.begin).not.toContain('ended by');
    expect(bare.memories).not.toEqual([]);
    expect(bare.fuelUsed).toEqual([]);
    expect(effect(local)).toEqual(effect(bare));
    expect(effect(thread)).toEqual(effect(bare));
    expect(sum(local.fuelUsed)).toBeGreaterThan(1_000_000);
    expect(thread.fuelUsed).toEqual(local.fuelUsed);
  });
});

describe.each(sample(FORMS))('in the form "%s"', (form) => {
  test.each(sample(['sqlite', 'zstd', 'clang-format']))(
    '%s does the same again, and is stopped when half of its fuel is gone',
    async (name) => {
      const whole = await runOnce(built.child, name, form);
      const half = Math.floor(sum(whole.fuelUsed) / 2);
      const starved = await runOnce(built.child, name, form, half);
      expect(whole).toEqual(firsts.get(`${name} ${form}`) ?? (await runOnce(built.child, name, form)));
      expect(whole.isExhausted).toBe(false);
      expect(starved.isExhausted).toBe(true);
      expect(starved.begin).toContain('ended by RuntimeError: unreachable');
    },
  );
});
