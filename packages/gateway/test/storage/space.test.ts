import { describe, expect, it } from 'vitest';
import { STORAGE_LIMITS } from '../../src/storage/values.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { bytesOf, keysAt, putText, spaceIn, storageStore, textAt } from './sample.ts';

const { valueBytes, pending } = STORAGE_LIMITS;

describe('put() and get()', () => {
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, i) => i))],
    ['the largest value', Buffer.alloc(valueBytes, 7)],
    ['a view into a larger buffer', Buffer.from('before and after').subarray(7, 10)],
  ])('gives %s back to the byte', async (_, value) => {
    const space = spaceIn(storageStore());
    await space.put('k', value);
    const got = await space.get('k');
    expect(got).toMatchObject({ ok: true, found: { version: 1 } });
    expect(got.ok && got.found && Buffer.compare(got.found.value, value)).toBe(0);
  });

  it('tells of a key that is not there', async () => {
    const space = spaceIn(storageStore());
    expect(await space.get('k')).toEqual({ ok: true, found: null });
    await putText(space, 'other', 'x');
    expect(await space.get('k')).toEqual({ ok: true, found: null });
  });

  it('refuses a value above 1 MiB and writes nothing', async () => {
    const space = spaceIn(storageStore());
    expect(await space.put('k', Buffer.alloc(valueBytes + 1))).toMatchObject({ ok: false, why: 'too-large' });
    expect(await textAt(space, 'k')).toBeNull();
  });

  it('refuses a key that is none, in every request', async () => {
    const space = spaceIn(storageStore());
    const refusal = { ok: false, why: 'invalid-key' };
    expect(await space.get('a/../b')).toMatchObject(refusal);
    expect(await space.put('a/../b', bytesOf('x'))).toMatchObject(refusal);
    expect(await space.delete('a/../b')).toMatchObject(refusal);
    expect(await space.list('a/../b', { limit: 1 })).toMatchObject(refusal);
    expect(await space.list('a', { limit: 1, after: 'a/../b' })).toMatchObject(refusal);
    expect(await keysAt(space, '/')).toEqual([]);
  });

  it('takes the value as it is at the moment of asking', async () => {
    const space = spaceIn(storageStore());
    const memory = Buffer.from('honest');
    const putting = space.put('k', memory);
    memory.fill('x');
    await putting;
    expect(await textAt(space, 'k')).toEqual(['honest', 1]);
  });

  it('lets a read see the writes that its own space asked for before it', async () => {
    const space = spaceIn(storageStore());
    const writing = [space.put('k', bytesOf('1')), space.put('k', bytesOf('2'))];
    const reading = textAt(space, 'k');
    const listing = keysAt(space, '/');
    const later = space.put('k', bytesOf('3'));
    expect(await reading).toEqual(['2', 2]);
    expect(await listing).toEqual(['k']);
    await Promise.all([...writing, later]);
    expect(await textAt(space, 'k')).toEqual(['3', 3]);
  });

  it('keeps what is written across openings, and shows it to other processes once it is done', async () => {
    const directory = tempDir();
    const [ours, theirs] = [spaceIn(storageStore(directory)), spaceIn(storageStore(directory))];
    await putText(ours, 'k', 'one');
    expect(await textAt(theirs, 'k')).toEqual(['one', 1]);
    await putText(theirs, 'k', 'two');
    expect(await textAt(ours, 'k')).toEqual(['two', 2]);
  });

  it('refuses a flood of requests that nobody waits for, and takes the next ones afterwards', async () => {
    const space = spaceIn(storageStore());
    const flood = Array.from({ length: 3 * pending }, (_, i) => space.put(`k${i}`, bytesOf('x')));
    const reading = space.get('k0');
    const results = await Promise.all(flood);
    expect(results.filter(({ ok }) => ok)).toHaveLength(pending);
    expect(results.at(-1)).toMatchObject({ ok: false, why: 'busy' });
    expect(await reading).toMatchObject({ ok: false, why: 'busy' });
    expect(await keysAt(space, '/')).toHaveLength(pending);
    expect(await putText(space, 'next', 'x')).toBe(pending + 1);
  });
});

describe('ifVersion', () => {
  it('writes over the version it names and over no other', async () => {
    const space = spaceIn(storageStore());
    const conflict = { ok: false, why: 'conflict' };
    expect(await space.put('k', bytesOf('a'), { ifVersion: 'absent' })).toEqual({ ok: true, version: 1 });
    expect(await space.put('k', bytesOf('b'), { ifVersion: 'absent' })).toMatchObject(conflict);
    for (const ifVersion of [0, 2, -1, Number.NaN, 1.5])
      expect(await space.put('k', bytesOf('b'), { ifVersion })).toMatchObject(conflict);
    expect(await textAt(space, 'k')).toEqual(['a', 1]);
    expect(await space.put('k', bytesOf('b'), { ifVersion: 1 })).toEqual({ ok: true, version: 2 });
    expect(await space.delete('k', { ifVersion: 1 })).toMatchObject(conflict);
    expect(await space.delete('k', { ifVersion: 2 })).toEqual({ ok: true, existed: true });
    expect(await space.delete('k', { ifVersion: 2 })).toMatchObject(conflict);
    expect(await space.delete('k')).toEqual({ ok: true, existed: false });
  });

  it('never takes a value for one that was deleted and written anew', async () => {
    const space = spaceIn(storageStore());
    const first = await putText(space, 'k', 'same');
    await space.delete('k');
    const second = await putText(space, 'k', 'same');
    expect(second).toBeGreaterThan(first);
    expect(await space.put('k', bytesOf('x'), { ifVersion: first })).toMatchObject({ why: 'conflict' });
    expect(await textAt(space, 'k')).toEqual(['same', second]);
  });
});

describe('list()', () => {
  it('gives the prefix itself and what lies beneath it, and no neighbour', async () => {
    const space = spaceIn(storageStore());
    for (const key of ['a', 'a/b', 'a/b/c', 'a-b', 'a.b', 'a0', 'ab', 'b', 'a!'])
      await space.put(key, bytesOf(key));
    expect(await keysAt(space, 'a/')).toEqual(['a', 'a/b', 'a/b/c']);
    expect(await keysAt(space, 'a')).toEqual(['a', 'a/b', 'a/b/c']);
    expect(await keysAt(space, 'a/b')).toEqual(['a/b', 'a/b/c']);
    expect(await keysAt(space, 'c')).toEqual([]);
    expect(await keysAt(space, '/')).toEqual(['a', 'a!', 'a-b', 'a.b', 'a/b', 'a/b/c', 'a0', 'ab', 'b']);
  });

  it('tells the version and the size of each value', async () => {
    const space = spaceIn(storageStore());
    await putText(space, 'a', 'é');
    await putText(space, 'b', '');
    expect(await space.list('/', { limit: 10 })).toEqual({
      ok: true,
      entries: [
        { key: 'a', version: 1, bytes: 2 },
        { key: 'b', version: 2, bytes: 0 },
      ],
      next: null,
    });
  });

  it('goes on behind a cursor, also when the key of the cursor is gone', async () => {
    const space = spaceIn(storageStore());
    for (const key of ['a', 'b', 'c', 'd']) await putText(space, key, key);
    const page = await space.list('/', { limit: 2 });
    expect(page).toMatchObject({ next: 'b', entries: [{ key: 'a' }, { key: 'b' }] });
    await space.delete('b');
    expect(await space.list('/', { limit: 2, after: 'b' })).toMatchObject({
      next: null,
      entries: [{ key: 'c' }, { key: 'd' }],
    });
    expect(await space.list('/', { limit: 2, after: 'z' })).toEqual({ ok: true, entries: [], next: null });
  });

  it.each([Number.NaN, 0, -1, 0.5, Number.POSITIVE_INFINITY, 1e9])(
    'keeps to a page when asked for %d',
    async (limit) => {
      const store = storageStore();
      const spaces = Array.from({ length: 20 }, () => spaceIn(store));
      const most = STORAGE_LIMITS.listEntries;
      await Promise.all(
        Array.from({ length: most + 1 }, (_, i) => spaces[i % 20]?.put(`k${i}`, bytesOf('x'))),
      );
      const page = await spaceIn(store).list('/', { limit });
      expect(page.ok && page.entries.length).toBe(limit > 1 ? most : 1);
      expect(page.ok && page.next).not.toBeNull();
    },
  );
});

describe('a grant', () => {
  it('opens what lies beneath its prefixes, each for its own act, and nothing else', async () => {
    const store = storageStore();
    const owner = spaceIn(store);
    for (const key of ['notes', 'notes/a', 'notes2', 'notes-x/a', 'out/a', 'secret'])
      await putText(owner, key, key);
    const space = spaceIn(store, { read: ['notes/'], write: ['out/', 'notes/drafts/'] });
    const denied = { ok: false, why: 'denied' };
    expect(await textAt(space, 'notes')).toEqual(['notes', 1]);
    expect(await textAt(space, 'notes/a')).toEqual(['notes/a', 2]);
    for (const key of ['notes2', 'notes-x/a', 'out/a', 'secret', 'note', 'NOTES/a'])
      expect(await space.get(key), key).toMatchObject(denied);
    for (const key of ['notes', 'notes/a', 'secret', 'out2'])
      expect(await space.put(key, bytesOf('x')), key).toMatchObject(denied);
    expect(await space.delete('notes/a')).toMatchObject(denied);
    expect(await space.put('out/b', bytesOf('x'))).toMatchObject({ ok: true });
    expect(await space.put('notes/drafts/1', bytesOf('x'))).toMatchObject({ ok: true });
    expect(await textAt(owner, 'secret')).toEqual(['secret', 6]);
  });

  it('lets a list look no further than a read', async () => {
    const store = storageStore();
    const owner = spaceIn(store);
    for (const key of ['notes/a', 'secret']) await putText(owner, key, key);
    const space = spaceIn(store, { read: ['notes/'], write: ['/'] });
    expect(await keysAt(space, 'notes/')).toEqual(['notes/a']);
    expect(await space.list('notes', { limit: 9, after: 'a' })).toMatchObject({
      entries: [{ key: 'notes/a' }],
    });
    for (const prefix of ['/', 'secret', 'note', 'notes2/'])
      expect(await space.list(prefix, { limit: 9 }), prefix).toMatchObject({ ok: false, why: 'denied' });
  });

  it('ends with the call', async () => {
    const space = spaceIn(storageStore());
    const requested = space.put('k', bytesOf('x'));
    space.close();
    expect(await requested).toEqual({ ok: true, version: 1 });
    const denied = { ok: false, why: 'denied' };
    expect(await space.get('k')).toMatchObject(denied);
    expect(await space.put('k', bytesOf('y'))).toMatchObject(denied);
    expect(await space.delete('k')).toMatchObject(denied);
    expect(await space.list('/', { limit: 1 })).toMatchObject(denied);
  });
});

describe('spaces', () => {
  it('of other tenants and other skills have the same keys and nothing in common', async () => {
    const store = storageStore();
    const names = [
      { tenant: 'acme', skill: 'a' },
      { tenant: 'acme', skill: 'b' },
      { tenant: 'umbrella', skill: 'a' },
      { tenant: 'acme/a', skill: '' },
      { tenant: '', skill: 'acme/a' },
    ];
    const spaces = names.map((name) => spaceIn(store, name));
    for (const [i, space] of spaces.entries()) await putText(space, 'k', String(i));
    for (const [i, space] of spaces.entries()) {
      expect(await textAt(space, 'k')).toEqual([String(i), 1]);
      expect(await keysAt(space, '/')).toEqual(['k']);
    }
    await spaces[0]?.delete('k');
    expect(await textAt(spaceIn(store, names[1]), 'k')).toEqual(['1', 1]);
  });
});
