import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Exit, LiveChild } from '../../../src/tiers/child/child.ts';
import type { Sandbox } from '../../../src/tiers/process/sandbox.ts';
import { WarmSandboxes } from '../../../src/tiers/process/warm-sandboxes.ts';

const IDLE_MS = 1_000;
const DEAD: Exit = { exitCode: null, signal: 'SIGKILL', spawnError: null };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A sandbox that is made up; `die` is the end of what is in it, `closed` counts how often it was given back. */
class FakeBox {
  closed = 0;
  die: () => void = () => undefined;
  readonly sandbox: Sandbox;

  constructor(close: () => Promise<void> = async () => undefined) {
    const exited = new Promise<Exit>((resolve) => {
      this.die = () => resolve(DEAD);
    });
    const child: LiveChild = {
      ...{
        stdin: null,
        stdout: null,
        stderr: null,
        ends: [],
        exited,
        connect: async () => null,
        servers: Promise.resolve([]),
      },
      kill: () => undefined,
    };
    this.sandbox = {
      ...{ child, group: null, cgroups: 0, identity: '', descriptors: [], wordsIndex: 0 },
      close: () => {
        this.closed += 1;
        return close();
      },
    };
  }
}

/** Makes sandboxes when the test lets it, and remembers how many were asked for at a time. */
class Maker {
  readonly made: FakeBox[] = [];
  readonly numbers: number[] = [];
  mostAtOnce = 0;
  #waiting: ((sandbox: FakeBox | null) => void)[] = [];
  #failing: ((error: Error) => void)[] = [];

  readonly make = async (number: number): Promise<Sandbox | null> => {
    this.numbers.push(number);
    const sandbox = await new Promise<FakeBox | null>((resolve, reject) => {
      this.#waiting.push(resolve);
      this.#failing.push(reject);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#waiting.length);
    });
    return sandbox === null ? null : sandbox.sandbox;
  };

  /** Finishes the one that is being made, and those that are asked for after it, up to so many. */
  async finish(count = 1): Promise<void> {
    for (let done = 0; done < count; done++) {
      const sandbox = new FakeBox();
      const next = this.#waiting.shift();
      this.#failing.shift();
      if (next !== undefined) this.made.push(sandbox);
      next?.(sandbox);
      await vi.advanceTimersByTimeAsync(0);
    }
  }

  async fail(error: Error | null): Promise<void> {
    const [resolve, reject] = [this.#waiting.shift(), this.#failing.shift()];
    if (error === null) resolve?.(null);
    else reject?.(error);
    await vi.advanceTimersByTimeAsync(0);
  }

  get closed(): number[] {
    return this.made.map(({ closed }) => closed);
  }
}

const open = (size: number) => ({ warm: new WarmSandboxes({ size, idleMs: IDLE_MS }), maker: new Maker() });

/** All that can be taken for a key. */
function takeAll(warm: WarmSandboxes, key: string): Sandbox[] {
  const sandboxes: Sandbox[] = [];
  for (let sandbox = warm.take(key); sandbox !== null; sandbox = warm.take(key)) sandboxes.push(sandbox);
  return sandboxes;
}

describe('a sandbox that stands ready', () => {
  it('is taken once, the oldest first, and not returned while it is in use', async () => {
    const { warm, maker } = open(2);
    expect(warm.take('a')).toBeNull();
    warm.refill('a', maker.make);
    await maker.finish(2);
    expect(takeAll(warm, 'b')).toEqual([]);
    expect(takeAll(warm, 'a')).toEqual(maker.made.map(({ sandbox }) => sandbox));
    for (const { die } of maker.made) die();
    await vi.advanceTimersByTimeAsync(2 * IDLE_MS);
    await warm.close();
    expect(maker.closed).toEqual([0, 0]);
  });

  it('and ends by itself is given back, and the one behind it is taken', async () => {
    const { warm, maker } = open(3);
    warm.refill('a', maker.make);
    await maker.finish(3);
    maker.made[0]?.die();
    maker.made[1]?.die();
    await vi.advanceTimersByTimeAsync(0);
    expect(maker.closed).toEqual([1, 1, 0]);
    expect(takeAll(warm, 'a')).toEqual([maker.made[2]?.sandbox]);
  });

  it('is given back when nobody took it for long, and not a moment before', async () => {
    const { warm, maker } = open(2);
    warm.refill('a', maker.make);
    await maker.finish();
    await vi.advanceTimersByTimeAsync(600);
    await maker.finish();
    await vi.advanceTimersByTimeAsync(399);
    expect(maker.closed).toEqual([0, 0]);
    await vi.advanceTimersByTimeAsync(1);
    expect(maker.closed).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(600);
    expect(maker.closed).toEqual([1, 1]);
    expect(warm.take('a')).toBeNull();
    warm.refill('a', maker.make);
    await maker.finish();
    expect(takeAll(warm, 'a')).toEqual([maker.made[2]?.sandbox]);
  });

  it('holds no timer once it was taken or has ended', async () => {
    const { warm, maker } = open(2);
    warm.refill('a', maker.make);
    await maker.finish(2);
    expect(vi.getTimerCount()).toBe(2);
    warm.take('a');
    maker.made[1]?.die();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('refill()', () => {
  it('makes none where none are kept', async () => {
    const { warm, maker } = open(0);
    warm.refill('a', maker.make);
    await maker.finish();
    expect(maker.numbers).toEqual([]);
    expect(warm.take('a')).toBeNull();
  });

  it('makes as many as are missing, one after the other, each with a number of its own', async () => {
    const { warm, maker } = open(3);
    for (let again = 0; again < 5; again++) warm.refill('a', maker.make);
    expect(maker.numbers).toEqual([1]);
    await maker.finish();
    warm.refill('a', maker.make);
    await maker.finish(9);
    warm.refill('a', maker.make);
    await maker.finish(9);
    expect(maker).toMatchObject({ numbers: [1, 2, 3], mostAtOnce: 1 });
    warm.take('a');
    warm.refill('a', maker.make);
    await maker.finish(9);
    expect(maker).toMatchObject({ numbers: [1, 2, 3, 4], mostAtOnce: 1 });
    expect(takeAll(warm, 'a')).toHaveLength(3);
  });

  it('makes up for what is taken meanwhile', async () => {
    const { warm, maker } = open(2);
    warm.refill('a', maker.make);
    await maker.finish();
    expect(warm.take('a')).not.toBeNull();
    await maker.finish(9);
    expect(maker.numbers).toEqual([1, 2, 3]);
    expect(takeAll(warm, 'a')).toHaveLength(2);
  });

  it('makes sandboxes for two keys side by side, and no number twice', async () => {
    const { warm, maker } = open(1);
    warm.refill('a', maker.make);
    warm.refill('b', maker.make);
    expect(maker).toMatchObject({ numbers: [1, 2], mostAtOnce: 2 });
    await maker.finish(2);
    expect([warm.take('a'), warm.take('b')]).toEqual(maker.made.map(({ sandbox }) => sandbox));
  });

  it.each([
    ['throws', new Error('no room')],
    ['gives none', null],
  ])('makes none where the maker %s, and tries again when it is asked again', async (_, failure) => {
    const { warm, maker } = open(2);
    warm.refill('a', maker.make);
    await maker.fail(failure);
    await maker.finish(9);
    expect(maker.numbers).toEqual([1]);
    expect(warm.take('a')).toBeNull();
    warm.refill('a', maker.make);
    await maker.finish(9);
    expect(maker.numbers).toEqual([1, 2, 3]);
    expect(takeAll(warm, 'a')).toHaveLength(2);
  });

  it('gives back the sandboxes of the key that was asked for longest ago, where there are too many keys', async () => {
    const { warm, maker } = open(1);
    for (const key of ['a', 'b', 'c', 'd', 'a']) {
      warm.refill(key, maker.make);
      await maker.finish();
    }
    expect(maker.closed).toEqual([0, 0, 0, 0]);
    warm.refill('e', maker.make);
    await maker.finish();
    expect(maker.closed).toEqual([0, 1, 0, 0, 0]);
    const kept = ['a', 'b', 'c', 'd', 'e'].map((key) => takeAll(warm, key).length);
    expect(kept).toEqual([1, 0, 1, 1, 1]);
  });

  it('gives back what was still being made for such a key', async () => {
    const { warm, maker } = open(1);
    for (const key of ['a', 'b', 'c', 'd', 'e']) warm.refill(key, maker.make);
    await maker.finish(5);
    expect(maker.closed).toEqual([1, 0, 0, 0, 0]);
    expect(warm.take('a')).toBeNull();
  });
});

describe('close()', () => {
  it('gives all back and waits for it, and nothing is kept or made any more', async () => {
    const { warm, maker } = open(2);
    for (const key of ['a', 'b']) warm.refill(key, maker.make);
    await maker.finish(4);
    await warm.close();
    expect(maker.closed).toEqual([1, 1, 1, 1]);
    warm.refill('a', maker.make);
    await maker.finish();
    expect(maker.numbers).toHaveLength(4);
    expect(takeAll(warm, 'a')).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits for the one that is being made, and gives that back too', async () => {
    const { warm, maker } = open(2);
    warm.refill('a', maker.make);
    let isClosed = false;
    const closed = warm.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(isClosed).toBe(false);
    await maker.finish(9);
    await closed;
    expect(maker.closed).toEqual([1]);
  });

  it('waits until a sandbox is gone, and does not mind one that cannot be given back', async () => {
    const { warm } = open(2);
    let go: () => void = () => undefined;
    const slow = new FakeBox(() => new Promise((resolve) => (go = resolve)));
    const broken = new FakeBox(() => Promise.reject(new Error('still there')));
    const sandboxes = [slow.sandbox, broken.sandbox];
    warm.refill('a', async () => sandboxes.shift() ?? null);
    await vi.advanceTimersByTimeAsync(0);
    let isClosed = false;
    const closed = warm.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect([slow.closed, broken.closed, isClosed]).toEqual([1, 1, false]);
    go();
    await closed;
    expect(isClosed).toBe(true);
  });
});
