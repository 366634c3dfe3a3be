import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CpuWatch } from '../../../src/tiers/process/cpu-watch.ts';
import { cpuMsCharged, verdictOf } from '../../../src/tiers/process/ending.ts';
import { BROKEN_OFF, sampleRan } from './sample.ts';

/** A group that says these times one after the other, and then the last one again. */
function groupSaying(...cpuUs: readonly (number | null)[]) {
  const observed = [...cpuUs];
  const none = { peakMemoryBytes: null, oomKills: 0, pidsRefused: 0 };
  return {
    usage: () => ({ ...none, cpuUs: (observed.length > 1 ? observed.shift() : observed[0]) ?? null }),
  };
}

describe('CpuWatch', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('aborts once the group has used more than the limit, and not before', async () => {
    const watch = new CpuWatch(groupSaying(0, 900_000, 2_000_000), 1_000);
    await vi.advanceTimersByTimeAsync(400);
    expect(watch.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(400);
    expect(watch.signal.aborted).toBe(true);
    watch.close();
  });

  test.each([
    ['there is no group', null],
    ['the group cannot say', groupSaying(null)],
    ['the group has just reached the limit, which the launcher looks at', groupSaying(1_000_000)],
  ])('does nothing where %s', async (_, group) => {
    const watch = new CpuWatch(group, 1_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(watch.signal.aborted).toBe(false);
    watch.close();
  });

  test('looks no more once it is closed', async () => {
    const watch = new CpuWatch(groupSaying(9_000_000), 1_000);
    watch.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(watch.signal.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('verdictOf() of a run that was ended from outside', () => {
  const stopped = {
    end: { stopped: 'cancelled' },
    status: { ...BROKEN_OFF, signal: 9, cancelled: true },
  } as const;

  test('is out of CPU where its group has used up the time, and cancelled where it has not', () => {
    const { cpuMs } = sampleRan().limits;
    const code = (cpuUs: number | null) => verdictOf(sampleRan({ ...stopped, group: { cpuUs } }));
    expect(code(cpuMs * 1000)).toMatchObject({ code: 'tier/out-of-cpu', limit: 'cpu' });
    expect(code(cpuMs * 1000 - 1)).toMatchObject({ code: 'tier/cancelled', limit: null });
    expect(code(null)).toMatchObject({ code: 'tier/cancelled', limit: null });
  });
});

describe('cpuMsCharged()', () => {
  test('is what was counted, by the group or else by the launcher', () => {
    expect(cpuMsCharged(sampleRan({ group: { cpuUs: 5_000 } }))).toBe(5);
    expect(cpuMsCharged(sampleRan())).toBe(3);
  });

  test('is the whole limit where a command ran and nobody counted', () => {
    const { cpuMs } = sampleRan().limits;
    expect(cpuMsCharged(sampleRan({ status: BROKEN_OFF }))).toBe(cpuMs);
    expect(cpuMsCharged(sampleRan({ status: null }))).toBe(cpuMs);
  });

  test('is nothing where nothing ran', () => {
    expect(cpuMsCharged(sampleRan({ end: { spawnError: 'EAGAIN' }, status: null }))).toBe(0);
    expect(cpuMsCharged(sampleRan({ status: { ...BROKEN_OFF, pid: null } }))).toBe(0);
  });
});
