import fc from 'fast-check';
import { expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import type { Space } from '../../src/storage/space.ts';
import type { Quota } from '../../src/storage/values.ts';
import { keysAt, spaceIn, storageStore, usageOf } from './sample.ts';

const QUOTA: Quota = { bytes: 60, keys: 5 };

type Step =
  | { do: 'put'; key: string; size: number; ifVersion: 'any' | 'absent' | 'known' | 'stale' }
  | { do: 'delete'; key: string; ifVersion: 'any' | 'known' | 'stale' }
  | { do: 'list'; prefix: string; limit: number; after: string };

/** U+E000 sorts before U+1F600 by bytes and behind it by the units of JavaScript. */
const key = fc.constantFrom('a', 'a/b', 'a/b/c', 'a-b', 'a0', 'b', '\ue000', '\u{1f600}', 'é/x');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      key,
      size: fc.integer({ min: 0, max: 30 }),
      ifVersion: fc.constantFrom('any' as const, 'absent' as const, 'known' as const, 'stale' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('delete' as const),
      key,
      ifVersion: fc.constantFrom('any' as const, 'known' as const, 'stale' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('list' as const),
      prefix: fc.constantFrom('/', 'a', 'a/', 'a/b', 'b', 'é/', '\ue000', '\u{1f600}'),
      limit: fc.integer({ min: 1, max: 4 }),
      after: key,
    }),
  },
);

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The same space kept plainly in memory. */
class Model {
  readonly values = new Map<string, { version: number; size: number }>();
  last = 0;

  bytes(): number {
    return [...this.values].reduce((sum, [name, { size }]) => sum + Buffer.byteLength(name) + size, 0);
  }

  keysAt(prefix: string): string[] {
    const place = prefix.replace(/\/$/, '');
    const isIn = (name: string) => place === '' || name === place || name.startsWith(`${place}/`);
    return [...this.values.keys()].filter(isIn).sort(compareBytes);
  }

  version(name: string, kind: 'any' | 'absent' | 'known' | 'stale'): number | 'absent' | undefined {
    const known = this.values.get(name)?.version ?? 0;
    return kind === 'any' ? undefined : kind === 'absent' ? 'absent' : kind === 'known' ? known : known + 1;
  }

  fits(name: string, wanted: number | 'absent' | undefined): boolean {
    if (wanted === undefined) return true;
    const found = this.values.get(name);
    return wanted === 'absent' ? found === undefined : found?.version === wanted;
  }

  put(name: string, size: number, wanted: number | 'absent' | undefined): string {
    if (!this.fits(name, wanted)) return 'conflict';
    const before = this.values.get(name);
    const grown = new Map(this.values).set(name, { version: this.last + 1, size });
    const bytes = [...grown].reduce((sum, [each, value]) => sum + Buffer.byteLength(each) + value.size, 0);
    if (bytes > QUOTA.bytes && bytes > this.bytes()) return 'full';
    if (before === undefined && grown.size > QUOTA.keys) return 'full';
    this.last += 1;
    this.values.set(name, { version: this.last, size });
    return `ok ${this.last}`;
  }
}

async function perform(space: Space, model: Model, next: Step): Promise<void> {
  if (next.do === 'list') {
    const { prefix, limit, after } = next;
    expect(await keysAt(space, prefix, limit)).toEqual(model.keysAt(prefix));
    const behind = model.keysAt(prefix).filter((each) => compareBytes(each, after) > 0);
    const page = await space.list(prefix, { limit, after });
    expect(page.ok && page.entries.map((entry) => entry.key)).toEqual(behind.slice(0, limit));
    return;
  }
  const ifVersion = model.version(next.key, next.ifVersion);
  if (next.do === 'put') {
    const put = await space.put(next.key, Buffer.alloc(next.size, 1), { ifVersion });
    expect(put.ok ? `ok ${put.version}` : put.why).toBe(model.put(next.key, next.size, ifVersion));
    return;
  }
  const wanted = ifVersion === 'absent' ? undefined : ifVersion;
  const deleted = await space.delete(next.key, wanted === undefined ? {} : { ifVersion: wanted });
  const expected = model.fits(next.key, wanted)
    ? { ok: true, existed: model.values.delete(next.key) }
    : { ok: false, why: 'conflict' };
  expect(deleted).toMatchObject(expected);
}

it('a space is at every step what the same steps make of a map, to the version, the byte and the order', async () => {
  const store = storageStore();
  let example = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const name = { tenant: 'acme', skill: `example-${example++}` };
      const space = spaceIn(store, { ...name, quota: QUOTA });
      const model = new Model();
      for (const next of steps) {
        await perform(space, model, next);
        expect(usageOf(store, name)).toEqual({ bytes: model.bytes(), keys: model.values.size });
      }
      for (const [each, { version, size }] of model.values) {
        expect(await space.get(each)).toEqual({ ok: true, found: { version, value: Buffer.alloc(size, 1) } });
      }
    }),
    { numRuns: volume(150, 30) },
  );
});
