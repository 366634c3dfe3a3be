import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../../src/core/coded-error.ts';
import { LaunchQueue } from '../../../src/tiers/child/queue.ts';
import { testClock } from '../../fixture/gateway.ts';

const clock = testClock();
const inMs = (ms: number) => clock.monotonicMs() + ms;
const FAR_MS = 50_000;

function terms(wishes: { signal?: AbortSignal; deadlineMs?: number } = {}) {
  return { signal: new AbortController().signal, deadlineMs: inMs(FAR_MS), ...wishes };
}

/** A work that ends when it is told, and tells when it began. */
function makeWork(began: string[], name: string) {
  let finish: (error?: Error) => void = () => undefined;
  const ended = new Promise<string>((resolve, reject) => {
    finish = (error) => (error === undefined ? resolve(name) : reject(error));
  });
  const work = () => {
    began.push(name);
    return ended;
  };
  return { work, finish: (error?: Error) => finish(error) };
}

async function codeOf(run: Promise<unknown>): Promise<string> {
  const error: unknown = await run.then(
    () => new Error('it ran'),
    (why) => why,
  );
  return error instanceof CodedError ? error.code : String(error);
}

describe('LaunchQueue', () => {
  it('runs as many at once as it is wide, and the others in the order in which they came', async () => {
    const queue = new LaunchQueue({ width: 2, clock });
    const began: string[] = [];
    const works = ['a', 'b', 'c', 'd', 'e'].map((name) => makeWork(began, name));
    const runs = works.map(({ work }) => queue.run(work, terms()));
    await sleep(0);
    expect(began).toEqual(['a', 'b']);
    works[1]?.finish();
    await runs[1];
    await sleep(0);
    expect(began).toEqual(['a', 'b', 'c']);
    for (const { finish } of works) finish();
    expect(await Promise.all(runs)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(began).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('lets nobody overtake who comes when a place has just come free', async () => {
    const queue = new LaunchQueue({ width: 1, clock });
    const began: string[] = [];
    const [a, b, c] = [makeWork(began, 'a'), makeWork(began, 'b'), makeWork(began, 'c')];
    const first = queue.run(a.work, terms());
    const second = queue.run(b.work, terms());
    a.finish();
    const third = first.then(() => queue.run(c.work, terms()));
    await first;
    b.finish();
    c.finish();
    await Promise.all([second, third]);
    expect(began).toEqual(['a', 'b', 'c']);
  });

  it('is free again after works that reject or throw', async () => {
    const queue = new LaunchQueue({ width: 1, clock });
    const thrown = queue.run(() => {
      throw new Error('thrown');
    }, terms());
    await expect(thrown).rejects.toThrow('thrown');
    await expect(queue.run(() => Promise.reject(new Error('rejected')), terms())).rejects.toThrow('rejected');
    expect(await queue.run(async () => 'runs', terms())).toBe('runs');
  });

  it.each([1, 3])('never runs more than %i at once, whatever leaves in between', async (width) => {
    const queue = new LaunchQueue({ width, clock });
    let running = 0;
    let most = 0;
    const work = async () => {
      running += 1;
      most = Math.max(most, running);
      await sleep(1);
      running -= 1;
    };
    const cancels = Array.from({ length: 60 }, () => new AbortController());
    const runs = cancels.map(({ signal }) => codeOf(queue.run(work, terms({ signal }))));
    await sleep(2);
    for (const [index, cancel] of cancels.entries()) if (index % 3 === 1) cancel.abort();
    const ends = await Promise.all(runs);
    expect(ends).toContain('tier/cancelled');
    expect(ends.filter((end) => end === 'Error: it ran').length).toBeGreaterThanOrEqual(40);
    expect([running, most]).toEqual([0, width]);
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('cannot be %d wide', (width) => {
    expect(() => new LaunchQueue({ width, clock })).toThrow(`its width is ${width}`);
  });
});

describe('who waits in a LaunchQueue', () => {
  it('and is cancelled leaves at once, and is never started', async () => {
    const queue = new LaunchQueue({ width: 1, clock });
    const began: string[] = [];
    const [a, b, c] = [makeWork(began, 'a'), makeWork(began, 'b'), makeWork(began, 'c')];
    const cancel = new AbortController();
    const first = queue.run(a.work, terms());
    const second = codeOf(queue.run(b.work, terms({ signal: cancel.signal })));
    const third = queue.run(c.work, terms());
    cancel.abort();
    expect(await second).toBe('tier/cancelled');
    a.finish();
    c.finish();
    expect(await Promise.all([first, third])).toEqual(['a', 'c']);
    expect(began).toEqual(['a', 'c']);
    expect(getEventListeners(cancel.signal, 'abort')).toEqual([]);
  });

  it('past the deadline leaves while the others still run, and is never started', async () => {
    const queue = new LaunchQueue({ width: 1, clock });
    const began: string[] = [];
    const [a, b] = [makeWork(began, 'a'), makeWork(began, 'b')];
    const { signal } = new AbortController();
    const first = queue.run(a.work, terms());
    expect(await codeOf(queue.run(b.work, terms({ signal, deadlineMs: inMs(20) })))).toBe('tier/timed-out');
    a.finish();
    await first;
    expect(began).toEqual(['a']);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('until its turn has no listener left', async () => {
    const queue = new LaunchQueue({ width: 1, clock });
    const { signal } = new AbortController();
    const a = makeWork([], 'a');
    const first = queue.run(a.work, terms());
    const second = queue.run(async () => getEventListeners(signal, 'abort').length, terms({ signal }));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    a.finish();
    await first;
    expect(await second).toBe(0);
  });

  it.each<[string, Parameters<typeof terms>[0], string]>([
    ['cancelled', { signal: AbortSignal.abort() }, 'tier/cancelled'],
    ['past the deadline', { deadlineMs: inMs(-1) }, 'tier/timed-out'],
    ['with a deadline that is no number', { deadlineMs: Number.NaN }, 'tier/timed-out'],
  ])('and comes %s is not started although there is a place', async (_, wishes, code) => {
    const queue = new LaunchQueue({ width: 1, clock });
    const began: string[] = [];
    expect(await codeOf(queue.run(makeWork(began, 'a').work, terms(wishes)))).toBe(code);
    expect(began).toEqual([]);
    expect(await queue.run(async () => 'free', terms())).toBe('free');
  });

  it('with a deadline further away than a timer reaches waits', async () => {
    const queue = new LaunchQueue({ width: 1, clock });
    const a = makeWork([], 'a');
    const first = queue.run(a.work, terms());
    const second = queue.run(async () => 'ran', terms({ deadlineMs: Number.MAX_SAFE_INTEGER }));
    await sleep(20);
    a.finish();
    await first;
    expect(await second).toBe('ran');
  });
});
