import { describe, expect, it, onTestFinished } from 'vitest';
import { startProgress } from '../../../src/doors/mcp/progress.ts';

type Told = { readonly progress: number; readonly total?: number; readonly message?: string };

/** Progress of a call at a time that the test sets. */
function start() {
  const told: Told[] = [];
  const time = { ms: 0 };
  const clock = { nowMs: () => time.ms, monotonicMs: () => time.ms };
  const notify = async ({ params }: { params: Record<string, unknown> }) => {
    const { progressToken, ...rest } = params;
    expect(progressToken).toBe('t');
    told.push(rest as Told);
  };
  const progress = startProgress('t', notify, clock);
  onTestFinished(() => progress.stop());
  const say = async (value: number, more: Partial<Told> = {}) => {
    progress.onProgress?.({ progress: value, total: more.total ?? null, message: more.message ?? null });
    await Promise.resolve();
  };
  return { told, time, say };
}

describe('progress of an upstream tool', () => {
  it('is told as the server says it, in text that no terminal obeys', async () => {
    const { told, say } = start();
    await say(0, { total: 100 });
    await say(50, { total: 100, message: 'half\u001b[2J' });
    expect(told).toEqual([
      { progress: 0, total: 100 },
      { progress: 50, total: 100, message: 'half\\u{1b}[2J' },
    ]);
  });

  it('never goes back', async () => {
    const { told, say } = start();
    for (const value of [5, 5, 3, 6]) await say(value);
    expect(told.map(({ progress }) => progress)).toEqual([5, 6]);
  });

  it('is told some times at once, and twenty times a second on the whole', async () => {
    const { told, time, say } = start();
    for (let i = 0; i < 1_000; i++) await say(i);
    const atOnce = told.length;
    expect(atOnce).toBeGreaterThanOrEqual(3);
    expect(atOnce).toBeLessThan(20);
    for (let i = 1; i <= 1_000; i++) {
      time.ms += 1;
      await say(1_000 + i);
    }
    expect(told.length - atOnce).toBeLessThanOrEqual(21);
    expect(told.length - atOnce).toBeGreaterThan(10);
  });

  it('is nobody’s where nobody asked', () => {
    const clock = { nowMs: () => 0, monotonicMs: () => 0 };
    expect(startProgress(undefined, async () => undefined, clock).onProgress).toBeUndefined();
  });
});
