import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { scratch } from '../fixtures/cli.ts';
import { REAL_PROGRAMS } from '../fixtures/real-programs/index.ts';
import { FORMS } from '../fixtures/real-programs/metered.ts';
import { bundleChild, type Ran, runOnce } from '../fixtures/real-programs/start.ts';

/* Programs that people use, each in a process of its own, as they are and metered. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const directory = scratch();
const built = { child: '' };

beforeAll(async () => {
  built.child = await bundleChild(ROOT, directory);
});

/** What a user of the program would see, and all that it wrote into its memories. */
function effect({ begin, bytes, digest, memories }: Ran) {
  return { begin, bytes, digest, memories };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

describe.each(REAL_PROGRAMS)('$name', ({ name }) => {
  test('gives the same output, memories and fuel metered in both forms and again', async () => {
    const sides = ['bare', 'local', 'thread', 'local'] as const;
    const [bare, local, thread, again] = await Promise.all(
      sides.map((side) => runOnce(built.child, name, side)),
    );
    if (!bare || !local || !thread || !again) throw new Error('Cannot compare: a run is missing');
    expect(bare.begin).not.toContain('ended by');
    expect(bare.memories).not.toEqual([]);
    expect(bare.fuelUsed).toEqual([]);
    expect(effect(local)).toEqual(effect(bare));
    expect(effect(thread)).toEqual(effect(bare));
    expect(sum(local.fuelUsed)).toBeGreaterThan(1_000_000);
    expect(thread.fuelUsed).toEqual(local.fuelUsed);
    expect(again).toEqual(local);
  });
});

describe.each(FORMS)('in the form "%s"', (form) => {
  test.each(['sqlite', 'zstd', 'clang-format'])(
    '%s is stopped when half of its fuel is gone',
    async (name) => {
      const whole = await runOnce(built.child, name, form);
      const half = Math.floor(sum(whole.fuelUsed) / 2);
      const starved = await runOnce(built.child, name, form, half);
      expect(whole.isExhausted).toBe(false);
      expect(starved.isExhausted).toBe(true);
      expect(starved.begin).toContain('ended by RuntimeError: unreachable');
    },
  );
});
