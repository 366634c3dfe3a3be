import { describe, expect, it } from 'vitest';
import { CHANNEL_LIMITS } from '../../src/channels/queue.ts';
import { bytesOf, drain, openChannels, subscribe, textOf } from './sample.ts';

const LONG_MS = 60_000;

function never(): AbortSignal {
  return new AbortController().signal;
}

describe('wait()', () => {
  it('gives at once what is there already', async () => {
    const subscription = subscribe(openChannels());
    subscription.publish('jobs', bytesOf('x'));
    expect(textOf(await subscription.wait('jobs', never(), 0))).toBe('x');
  });

  it('gives the message that comes while it waits, and that one is not received twice', async () => {
    const channels = openChannels();
    const [waiter, other] = [subscribe(channels), subscribe(channels)];
    const waiting = waiter.wait('jobs', never(), LONG_MS);
    other.publish('jobs', bytesOf('x'));
    expect(textOf(await waiting)).toBe('x');
    expect(waiter.receive('jobs')).toBeNull();
    expect(drain(other)).toEqual(['x']);
  });

  it('gives null when the time is over, and takes no message afterwards', async () => {
    const subscription = subscribe(openChannels());
    expect(await subscription.wait('jobs', never(), 5)).toBeNull();
    subscription.publish('jobs', bytesOf('x'));
    expect(drain(subscription)).toEqual(['x']);
  });

  it.each([0, -1, Number.NaN, Number.NEGATIVE_INFINITY])('does not wait for %d ms', async (ms) => {
    const subscription = subscribe(openChannels());
    expect(await subscription.wait('jobs', never(), ms)).toBeNull();
    subscription.publish('jobs', bytesOf('x'));
    expect(textOf(await subscription.wait('jobs', never(), ms))).toBe('x');
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 31, 1e300])(
    'waits when told %d ms, which no timer takes',
    async (ms) => {
      const subscription = subscribe(openChannels());
      const waiting = subscription.wait('jobs', never(), ms);
      // A timer that was given too much fires after a millisecond.
      const sooner = subscription.wait('jobs', never(), 50);
      expect(await Promise.race([waiting, sooner.then(() => 'still waiting')])).toBe('still waiting');
      subscription.publish('jobs', bytesOf('x'));
      expect(textOf(await waiting)).toBe('x');
    },
  );

  it('ends with its signal, and leaves the message to the next one', async () => {
    const subscription = subscribe(openChannels());
    const stop = new AbortController();
    const waiting = subscription.wait('jobs', stop.signal, LONG_MS);
    stop.abort();
    expect(await waiting).toBeNull();
    subscription.publish('jobs', bytesOf('x'));
    expect(await subscription.wait('jobs', stop.signal, LONG_MS)).toBeNull();
    expect(drain(subscription)).toEqual(['x']);
  });

  it('ends when its subscription is closed, and when all channels are', async () => {
    const channels = openChannels();
    const [one, other] = [subscribe(channels), subscribe(channels)];
    const [first, second] = [one.wait('jobs', never(), LONG_MS), other.wait('jobs', never(), LONG_MS)];
    one.close();
    expect(await first).toBeNull();
    channels.close();
    expect(await second).toBeNull();
    expect(await other.wait('jobs', never(), LONG_MS)).toBe('denied');
  });

  it('serves the waiters of one subscription in the order of their arrival', async () => {
    const subscription = subscribe(openChannels());
    const waits = ['a', 'b', 'c'].map(() => subscription.wait('jobs', never(), LONG_MS));
    for (const text of ['1', '2', '3']) subscription.publish('jobs', bytesOf(text));
    expect((await Promise.all(waits)).map(textOf)).toEqual(['1', '2', '3']);
    expect(subscription.receive('jobs')).toBeNull();
  });

  it('takes more than a queue holds, since nothing is queued for it', async () => {
    const subscription = subscribe(openChannels());
    const count = 2 * CHANNEL_LIMITS.queueMessages;
    for (let i = 0; i < count; i++) {
      const waiting = subscription.wait('jobs', never(), LONG_MS);
      expect(subscription.publish('jobs', bytesOf(`${i}`))).toBe('ok');
      expect(textOf(await waiting)).toBe(`${i}`);
    }
  });

  it('tells what was missed before the message it gives', async () => {
    const subscription = subscribe(openChannels());
    for (let i = 0; i <= CHANNEL_LIMITS.queueMessages; i++) subscription.publish('jobs', bytesOf('x'));
    drain(subscription);
    const waiting = subscription.wait('jobs', never(), LONG_MS);
    subscription.publish('jobs', bytesOf('y'));
    expect(await waiting).toMatchObject({ missed: 1 });
  });
});
