import { describe, expect, it } from 'vitest';
import { Cleanup } from '../../../src/tiers/process/warm-sandboxes.ts';

/** Something that is being let go until the test says that it is done. */
function letGo() {
  let done: () => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const closing = new Promise<void>((resolve, reject) => {
    done = resolve;
    fail = reject;
  });
  return { closing, done, fail };
}

/** Which of these promises have resolved by now. */
async function settled(promises: readonly Promise<void>[]): Promise<boolean[]> {
  const flags = promises.map(() => false);
  for (const [index, each] of promises.entries()) {
    void each.then(() => {
      flags[index] = true;
    });
  }
  await new Promise((resolve) => setImmediate(resolve));
  return flags;
}

describe('Cleanup', () => {
  it('holds nobody up while there are no more than the most', async () => {
    const cleanup = new Cleanup(2);
    expect(await settled([cleanup.add(letGo().closing), cleanup.add(letGo().closing)])).toEqual([true, true]);
  });

  it('holds up who brings one too many until another is done', async () => {
    const cleanup = new Cleanup(1);
    const first = letGo();
    await cleanup.add(first.closing);
    const second = cleanup.add(letGo().closing);
    expect(await settled([second])).toEqual([false]);
    first.done();
    expect(await settled([second])).toEqual([true]);
  });

  it('lets nobody go on while there are too many, however many wait', async () => {
    const cleanup = new Cleanup(2);
    const all = Array.from({ length: 6 }, letGo);
    const adds = all.map(({ closing }) => cleanup.add(closing));
    const waiting = adds.slice(2);
    expect(await settled(waiting)).toEqual([false, false, false, false]);
    for (const { done } of all.slice(0, 3)) done();
    expect(await settled(waiting)).toEqual([false, false, false, false]);
    all[3]?.done();
    expect(await settled(waiting)).toEqual([true, true, true, true]);
  });

  it('takes one that fails for one that is done', async () => {
    const cleanup = new Cleanup(0);
    const one = letGo();
    const added = cleanup.add(one.closing);
    expect(await settled([added, cleanup.finish()])).toEqual([false, false]);
    one.fail(new Error('it did not close'));
    expect(await settled([added, cleanup.finish()])).toEqual([true, true]);
  });

  it('has finished when nothing is left, what came during the wait included', async () => {
    const cleanup = new Cleanup(5);
    const [first, second] = [letGo(), letGo()];
    await cleanup.add(first.closing);
    const finished = cleanup.finish();
    expect(await settled([finished])).toEqual([false]);
    await cleanup.add(second.closing);
    first.done();
    expect(await settled([finished])).toEqual([false]);
    second.done();
    expect(await settled([finished, cleanup.finish()])).toEqual([true, true]);
  });
});
