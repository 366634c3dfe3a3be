import { describe, expect, it } from 'vitest';
import { race } from '../budget/race.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { bytesOf, HOME, keysAt, spaceIn, storageStore, textAt, usageOf } from './sample.ts';

describe('concurrent writers of one process', () => {
  it('win each version exactly once when 100 of them want to write over it', async () => {
    const store = storageStore();
    const spaces = Array.from({ length: 100 }, () => spaceIn(store));
    for (let version = 0; version < 20; version++) {
      const ifVersion = version === 0 ? 'absent' : version;
      const puts = await Promise.all(
        spaces.map((space, i) => space.put('k', bytesOf(`${version} ${i}`), { ifVersion })),
      );
      const winners = puts.flatMap((put, i) => (put.ok ? [{ i, version: put.version }] : []));
      expect(winners).toHaveLength(1);
      expect(puts.filter((put) => !put.ok && put.why === 'conflict')).toHaveLength(99);
      expect(await textAt(spaceIn(store), 'k')).toEqual([`${version} ${winners[0]?.i}`, version + 1]);
    }
  });

  it.each([
    ['bytes', { bytes: 5_000, keys: 1_000 }, 50],
    ['keys', { bytes: 1_000_000, keys: 30 }, 30],
  ])('fill a quota of %s to its end and never above', async (_, quota, fit) => {
    const store = storageStore();
    const spaces = Array.from({ length: 100 }, () => spaceIn(store, { quota }));
    // Each key has 4 bytes and each value 96.
    const puts = await Promise.all(
      spaces.map((space, i) => space.put(`k${String(i).padStart(3, '0')}`, Buffer.alloc(96))),
    );
    expect(puts.filter(({ ok }) => ok)).toHaveLength(fit);
    expect(puts.filter((put) => !put.ok && put.why === 'full')).toHaveLength(100 - fit);
    expect(usageOf(store, HOME)).toEqual({ bytes: 100 * fit, keys: fit });
    expect(await keysAt(spaceIn(store), '/')).toHaveLength(fit);
  });
});

describe('a quota', () => {
  it('lets a space above it shrink and delete, but not grow', async () => {
    const store = storageStore();
    await spaceIn(store).put('k', Buffer.alloc(1_000));
    const space = spaceIn(store, { quota: { bytes: 100, keys: 0 } });
    expect(await space.put('k', Buffer.alloc(1_001))).toMatchObject({ why: 'full' });
    expect(await space.put('l', Buffer.alloc(0))).toMatchObject({ why: 'full' });
    expect(await space.put('k', Buffer.alloc(900))).toMatchObject({ ok: true });
    expect(usageOf(store, HOME)).toEqual({ bytes: 901, keys: 1 });
    expect(await space.delete('k')).toEqual({ ok: true, existed: true });
    expect(usageOf(store, HOME)).toEqual({ bytes: 0, keys: 0 });
  });

  it('of one skill does not use the quota of another', async () => {
    const store = storageStore();
    const quota = { bytes: 10, keys: 1 };
    await spaceIn(store, { quota }).put('k', Buffer.alloc(9));
    expect(await spaceIn(store, { quota }).put('l', Buffer.alloc(1))).toMatchObject({ why: 'full' });
    expect(await spaceIn(store, { quota, skill: 'other' }).put('k', Buffer.alloc(9))).toMatchObject({
      ok: true,
    });
  });
});

describe('processes on one database', () => {
  it('count to 200 together, without losing a step and without a version that two of them won', async () => {
    const directory = tempDir();
    const store = storageStore(directory);
    const argsOf = Array.from({ length: 4 }, () => [directory, 'count', '50']);
    const results = await race(new URL('./fixtures/write-together.ts', import.meta.url), argsOf);
    const won = results.flatMap((line) => JSON.parse(line) as number[]);
    expect(won.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    expect(await textAt(spaceIn(store), 'counter')).toEqual(['200', 200]);
  }, 120_000);

  it('fill one quota together and never above', async () => {
    const directory = tempDir();
    const store = storageStore(directory);
    const argsOf = Array.from({ length: 4 }, (_, i) => [directory, `fill${i}`, '50']);
    const results = await race(new URL('./fixtures/write-together.ts', import.meta.url), argsOf);
    const written = results.map((line) => (JSON.parse(line) as number[]).length);
    expect(written.reduce((sum, count) => sum + count, 0)).toBe(100);
    expect(usageOf(store, HOME).keys).toBe(100);
    expect(await keysAt(spaceIn(store), '/')).toHaveLength(100);
  }, 120_000);
});
