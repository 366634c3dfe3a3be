import { describe, expect, it } from 'vitest';
import { tempDir } from '../fixture/temp-dir.ts';
import { insertNote, notesIn, openNotes } from './sample.ts';

describe('commit()', () => {
  it('runs the works of one turn in one transaction, in their order', async () => {
    const store = openNotes(tempDir());
    const transactions = new Set<unknown>();
    const texts = Array.from({ length: 50 }, (_, i) => `note ${i}`);
    const results = await Promise.all(
      texts.map((text) =>
        store.commit((tx) => {
          transactions.add(tx);
          tx.run(insertNote, { text });
          return text;
        }),
      ),
    );
    expect(transactions.size).toBe(1);
    expect(results).toEqual(texts);
    expect(notesIn(store)).toEqual(texts);
  });

  it('bounds a transaction and loses no work to it', async () => {
    const store = openNotes(tempDir());
    const sizes = new Map<unknown, number>();
    const works = Array.from({ length: 1000 }, (_, i) =>
      store.commit((tx) => {
        sizes.set(tx, (sizes.get(tx) ?? 0) + 1);
        tx.run(insertNote, { text: String(i) });
      }),
    );
    await Promise.all(works);
    expect(Math.max(...sizes.values())).toBeLessThanOrEqual(256);
    expect(notesIn(store)).toEqual(Array.from({ length: 1000 }, (_, i) => String(i)));
  });

  it('lets a work that throws take no neighbour down and leave nothing behind', async () => {
    const store = openNotes(tempDir());
    const attempts: string[] = [];
    const write = (text: string, fails: boolean) =>
      store.commit((tx) => {
        attempts.push(text);
        tx.run(insertNote, { text });
        if (fails) throw new RangeError(`no ${text}`);
        return text;
      });
    const settled = await Promise.allSettled([
      write('a', false),
      write('b', true),
      write('c', false),
      write('d', true),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(settled[1]).toMatchObject({ reason: new RangeError('no b') });
    expect(notesIn(store)).toEqual(['a', 'c']);
    // The shared transaction stopped at b; then each ran again alone.
    expect(attempts).toEqual(['a', 'b', 'a', 'b', 'c', 'd']);
  });

  it('forgets what a transaction kept when it is rolled back', async () => {
    const store = openNotes(tempDir());
    const count = () =>
      store.commit((tx) => {
        const kept = tx.once('counter', () => {
          const counter = { value: notesIn(store).length };
          tx.beforeCommit(() => tx.run(insertNote, { text: `total ${counter.value}` }));
          return counter;
        });
        kept.value += 1;
        return kept.value;
      });
    const broken = store.commit(() => {
      throw new Error('broken');
    });
    const settled = await Promise.allSettled([count(), broken, count()]);
    expect(settled.map((one) => (one.status === 'fulfilled' ? one.value : 'rejected'))).toEqual([
      1,
      'rejected',
      2,
    ]);
    expect(notesIn(store)).toEqual(['total 1', 'total 2']);
  });

  it('is done with all that was queued when the store closes', async () => {
    const directory = tempDir();
    const store = openNotes(directory);
    const works = ['a', 'b'].map((text) => store.commit((tx) => tx.run(insertNote, { text })));
    store.close();
    await Promise.all(works);
    expect(notesIn(openNotes(directory))).toEqual(['a', 'b']);
  });

  it('is seen by another connection once resolved, and not before', async () => {
    const directory = tempDir();
    const [store, other] = [openNotes(directory), openNotes(directory)];
    const writing = store.commit((tx) => {
      tx.run(insertNote, { text: 'a' });
      return notesIn(other);
    });
    expect(await writing).toEqual([]);
    expect(notesIn(other)).toEqual(['a']);
  });
});
