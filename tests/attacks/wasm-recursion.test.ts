import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundle } from '../../packages/gateway/test/fixture/bundle.ts';
import { threadStackBytes } from '../../packages/wasm/src/index.ts';
import { wat } from '../../packages/wasm/test/fixture/wat.ts';
import { scratch } from '../fixtures/cli.ts';
import { endless, SHAPES } from '../fixtures/recursion/shapes.ts';
import { sample } from '../volume/volume.ts';

/* A guest that recurses without end, shaped so that V8's optimised frames are many times the counted ones. */

const MIB = 1024 * 1024;
const COUNTS = [20, 200, 1000];
type Guest = { readonly name: string; readonly bytes: Uint8Array };
const guestsOf = (shapes: typeof SHAPES, counts: readonly number[]): readonly Guest[] =>
  shapes.flatMap((shape) =>
    counts.map((count) => ({ name: `${count} ${shape.name}`, bytes: wat(endless(shape, count)) })),
  );
/** Some of the shapes in a usual run, others each time. */
const GUESTS = guestsOf(sample(SHAPES, 2), COUNTS);
const LARGEST = guestsOf(SHAPES, COUNTS.slice(-1));
/** V8 with the optimised code alone, with the simple code alone, and as it comes, which goes from one to the other. */
const TIERS = { optimised: ['--no-liftoff'], simple: ['--liftoff-only'], both: [] };

const directory = scratch();
const built = { child: '' };

beforeAll(async () => {
  built.child = await bundle(new URL('../fixtures/recursion/child.ts', import.meta.url), directory);
});

/** How the calls of each guest end, in threads of so much stack. */
async function endsOf(
  flags: readonly string[],
  guests: readonly Guest[],
  stackMib: number,
): Promise<string[][]> {
  const child = spawn(process.execPath, [...flags, built.child], { stdio: ['pipe', 'pipe', 'inherit'] });
  const modules = guests.map(({ bytes }) => Buffer.from(bytes).toString('base64'));
  child.stdin.end(JSON.stringify({ modules, stackMib }));
  return JSON.parse(await text(child.stdout));
}

describe('a recursion without end', () => {
  test('ends by the count, at the same depth in every tier, in a thread with the stack that the engine asks for', async () => {
    const stackMib = threadStackBytes() / MIB;
    const [optimised = [], simple, both] = await Promise.all(
      Object.values(TIERS).map((flags) => endsOf(flags, GUESTS, stackMib)),
    );
    expect(optimised).toHaveLength(GUESTS.length);
    for (const [index, { name }] of GUESTS.entries()) {
      const [first, ...others] = optimised[index] ?? [];
      expect(`${name}: ${first}`).toMatch(/: stack counted \d+$/);
      expect(new Set(others)).toEqual(new Set([first]));
    }
    expect(simple).toEqual(optimised);
    expect(both).toEqual(optimised);
  });

  test('reaches the end of a usual stack without that, which says that it did, and never more', async () => {
    const ends = (await endsOf(TIERS.optimised, LARGEST, 1)).flat();
    expect(ends.filter((end) => end === 'stack machine not exact')).not.toEqual([]);
    expect(ends.filter((end) => !/^stack (machine not exact|counted \d+)$/.test(end))).toEqual([]);
  });
});
