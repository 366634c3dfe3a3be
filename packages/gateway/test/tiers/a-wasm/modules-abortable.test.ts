import { describe, expect, it, vi } from 'vitest';
import { orAborted } from '../../../src/tiers/a-wasm/modules.ts';

describe('orAborted()', () => {
  it('gives what comes before the signal, and listens to it no more', async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    expect(await orAborted(Promise.resolve(1), signal, () => undefined)).toBe(1);
    expect(removed).toHaveBeenCalledOnce();
    await expect(orAborted(Promise.reject(new Error('broken')), signal, () => undefined)).rejects.toThrow(
      'broken',
    );
  });

  it('gives null when the signal comes first, and hands on what comes later', async () => {
    const stop = new AbortController();
    const late: number[] = [];
    let give: (value: number) => void = () => undefined;
    const promise = new Promise<number>((resolve) => {
      give = resolve;
    });
    const waits = orAborted(promise, stop.signal, (value) => late.push(value));
    stop.abort();
    expect(await waits).toBe(null);
    give(7);
    await promise;
    await expect.poll(() => late).toEqual([7]);
    expect(await orAborted(Promise.resolve(8), stop.signal, (value) => late.push(value))).toBe(null);
    await expect.poll(() => late).toEqual([7, 8]);
  });
});
