import { describe, expect, it, vi } from 'vitest';
import { abortable } from '../../../src/tiers/a-wasm/modules.ts';

describe('abortable()', () => {
  it('gives what comes before the signal, and listens to it no more', async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    expect(await abortable(Promise.resolve(1), signal)).toBe(1);
    expect(removed).toHaveBeenCalledOnce();
    await expect(abortable(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
  });

  it('gives null when the signal comes first', async () => {
    const stop = new AbortController();
    const waits = abortable(new Promise<number>(() => undefined), stop.signal);
    stop.abort();
    expect(await waits).toBe(null);
    expect(await abortable(Promise.resolve(8), stop.signal)).toBe(null);
  });
});
