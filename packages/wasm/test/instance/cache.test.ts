import { describe, expect, it } from 'vitest';
import { Cache } from '../../src/instance/cache.ts';

/** A cache of texts that are as large as they are long, and what was made so far. */
function texts(bounds: { entries: number; bytes: number }) {
  const cache = new Cache<string>(bounds, (text) => text.length);
  const made: string[] = [];
  const get = (key: string, text = key) =>
    cache.get(key, async () => {
      made.push(key);
      return text;
    });
  return { cache, made, get };
}

describe('Cache', () => {
  it('creates a value once for all requests during its creation', async () => {
    const { made, get } = texts({ entries: 2, bytes: 100 });
    const [first, second] = await Promise.all([get('a'), get('a')]);
    expect([first, second, made]).toEqual(['a', 'a', ['a']]);
  });

  it('drops the least recently used entry when there are too many', async () => {
    const { made, get } = texts({ entries: 2, bytes: 100 });
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await get(key);
    expect(made).toEqual(['a', 'b', 'c', 'b']);
  });

  it('drops as many entries as needed when they are too large', async () => {
    const { made, get } = texts({ entries: 100, bytes: 10 });
    await get('a', 'xxxx');
    await get('b', 'xxxx');
    await get('c', 'xxxxxxxxx');
    for (const key of ['c', 'b', 'a']) await get(key, 'x');
    expect(made).toEqual(['a', 'b', 'c', 'b', 'a']);
  });

  it('does not keep a value larger than its bound, nor drops others for it', async () => {
    const { made, get } = texts({ entries: 100, bytes: 10 });
    await get('a');
    await get('large', 'x'.repeat(11));
    await get('a');
    await get('large', 'x'.repeat(11));
    expect(made).toEqual(['a', 'large', 'large']);
  });

  it('keeps nothing when its bound is zero', async () => {
    const { made, get } = texts({ entries: 0, bytes: 100 });
    await get('a');
    await get('a');
    expect(made).toEqual(['a', 'a']);
  });

  it.each([
    [
      'at once',
      () => {
        throw new Error('no');
      },
    ],
    ['later', () => Promise.reject(new Error('no'))],
  ])('does not keep a creation that failed %s', async (_when, fail: () => Promise<string>) => {
    const { cache, get } = texts({ entries: 2, bytes: 100 });
    await expect(cache.get('a', fail)).rejects.toThrow('no');
    expect(await get('a')).toBe('a');
  });
});
