import { describe, expect, it } from 'vitest';
import { CHANNEL_LIMITS } from '../../src/channels/queue.ts';
import { ADA, BOB, bytesOf, drain, openChannels, subscribe, textOf } from './sample.ts';

const { messageBytes, queueMessages, queueBytes, channelsPerTenant, subscribersPerTenant } = CHANNEL_LIMITS;

describe('a message', () => {
  it('reaches everybody on the channel, in the order of publishing, with the name of its sender', () => {
    const channels = openChannels();
    const [ada, bob] = [subscribe(channels), subscribe(channels, { sender: BOB })];
    expect(ada.publish('jobs', bytesOf('one'))).toBe('ok');
    expect(bob.publish('jobs', bytesOf('two'))).toBe('ok');
    for (const subscription of [ada, bob]) {
      expect(subscription.receive('jobs')).toEqual({
        bytes: new Uint8Array(bytesOf('one')),
        sender: ADA,
        missed: 0,
      });
      expect(subscription.receive('jobs')).toEqual({
        bytes: new Uint8Array(bytesOf('two')),
        sender: BOB,
        missed: 0,
      });
      expect(subscription.receive('jobs')).toBeNull();
    }
  });

  it('is lost without harm when nobody listens, and does not reach who comes later', () => {
    const channels = openChannels();
    const publisher = subscribe(channels, { receive: [] });
    expect(publisher.publish('jobs', bytesOf('early'))).toBe('ok');
    const late = subscribe(channels);
    expect(late.receive('jobs')).toBeNull();
    expect(publisher.publish('jobs', bytesOf('now'))).toBe('ok');
    expect(drain(late)).toEqual(['now']);
  });

  it.each([0, 1, messageBytes])('of %d bytes is taken', (size) => {
    const subscription = subscribe(openChannels());
    expect(subscription.publish('jobs', new Uint8Array(size).fill(7))).toBe('ok');
    expect(subscription.receive('jobs')).toMatchObject({ bytes: new Uint8Array(size).fill(7) });
  });

  it('above 64 KiB is refused, with and without a subscriber', () => {
    const channels = openChannels();
    const publisher = subscribe(channels, { receive: [] });
    expect(publisher.publish('jobs', new Uint8Array(messageBytes + 1))).toBe('too-large');
    const listener = subscribe(channels);
    expect(publisher.publish('jobs', new Uint8Array(messageBytes + 1))).toBe('too-large');
    expect(listener.receive('jobs')).toBeNull();
  });

  it('is as it was when it was published, whatever sender and receivers do to their bytes', () => {
    const channels = openChannels();
    const [first, second] = [subscribe(channels), subscribe(channels)];
    const memory = Buffer.from('honest');
    first.publish('jobs', memory);
    memory.fill('x');
    const received = first.receive('jobs');
    expect(textOf(received)).toBe('honest');
    if (received !== null && received !== 'denied') received.bytes.fill(0);
    expect(textOf(second.receive('jobs'))).toBe('honest');
  });
});

describe('a subscription', () => {
  it('reaches the channels that were granted, each for its own act, and no others', async () => {
    const channels = openChannels();
    const subscription = subscribe(channels, { publish: ['out'], receive: ['in'] });
    const other = subscribe(channels, { publish: ['in', 'secret'], receive: ['out', 'secret'] });
    expect(subscription.publish('out', bytesOf('x'))).toBe('ok');
    expect(textOf(other.receive('out'))).toBe('x');
    for (const name of ['in', 'secret', '', 'OUT', '__proto__', 'constructor'])
      expect(subscription.publish(name, bytesOf('x')), name).toBe('denied');
    other.publish('secret', bytesOf('x'));
    for (const name of ['out', 'secret', '', 'IN', '__proto__', 'constructor']) {
      expect(subscription.receive(name), name).toBe('denied');
      expect(await subscription.wait(name, new AbortController().signal, 1_000), name).toBe('denied');
    }
    expect(textOf(other.receive('secret'))).toBe('x');
  });

  it('of another tenant has channels of the same name and hears nothing of them', () => {
    const channels = openChannels();
    const ours = subscribe(channels);
    const theirs = subscribe(channels, { tenant: 'umbrella' });
    ours.publish('jobs', bytesOf('ours'));
    expect(theirs.receive('jobs')).toBeNull();
    theirs.publish('jobs', bytesOf('theirs'));
    expect(drain(ours)).toEqual(['ours']);
    expect(drain(theirs)).toEqual(['theirs']);
  });

  it('is of no use once closed, and closing it twice closes no other', () => {
    const channels = openChannels();
    const [gone, stays] = [subscribe(channels), subscribe(channels)];
    stays.publish('jobs', bytesOf('x'));
    gone.close();
    gone.close();
    expect(gone.receive('jobs')).toBe('denied');
    expect(gone.publish('jobs', bytesOf('y'))).toBe('denied');
    expect(stays.publish('jobs', bytesOf('z'))).toBe('ok');
    expect(drain(stays)).toEqual(['x', 'z']);
  });

  it('without queues closes without taking the channels of others with it', () => {
    const channels = openChannels();
    const publisher = subscribe(channels, { receive: [] });
    const first = subscribe(channels);
    const before = subscribe(channels, { receive: [] });
    first.close();
    const listener = subscribe(channels);
    publisher.close();
    before.close();
    const other = subscribe(channels, { receive: [] });
    expect(other.publish('jobs', bytesOf('x'))).toBe('ok');
    expect(drain(listener)).toEqual(['x']);
  });

  it('is not given for a name that is none', () => {
    const channels = openChannels();
    for (const name of ['', 'Jobs', 'a/b', '../a', 'a'.repeat(65)]) {
      expect(() => subscribe(channels, { publish: [name] }), name).toThrow(TypeError);
      expect(() => subscribe(channels, { receive: [name] }), name).toThrow(TypeError);
    }
  });
});

describe('a subscriber who does not receive', () => {
  it('keeps 256 messages, misses what comes then, and is told how many that were', () => {
    const channels = openChannels();
    const sleeper = subscribe(channels);
    for (let i = 0; i < queueMessages; i++) expect(sleeper.publish('jobs', bytesOf(`${i}`))).toBe('ok');
    for (let i = 0; i < 3; i++) expect(sleeper.publish('jobs', bytesOf('missed'))).toBe('full');
    expect(textOf(sleeper.receive('jobs'))).toBe('0');
    expect(sleeper.publish('jobs', bytesOf('last'))).toBe('ok');
    for (let i = 1; i < queueMessages; i++)
      expect(sleeper.receive('jobs')).toMatchObject({ bytes: new Uint8Array(bytesOf(`${i}`)), missed: 0 });
    expect(sleeper.receive('jobs')).toMatchObject({ bytes: new Uint8Array(bytesOf('last')), missed: 3 });
    sleeper.publish('jobs', bytesOf('next'));
    expect(sleeper.receive('jobs')).toMatchObject({ missed: 0 });
  });

  it('keeps 1 MiB, and takes a smaller message into what is left of it', () => {
    const sleeper = subscribe(openChannels());
    const most = queueBytes / messageBytes;
    for (let i = 1; i < most; i++) expect(sleeper.publish('jobs', new Uint8Array(messageBytes))).toBe('ok');
    expect(sleeper.publish('jobs', new Uint8Array(messageBytes - 1))).toBe('ok');
    expect(sleeper.publish('jobs', new Uint8Array(2))).toBe('full');
    expect(sleeper.publish('jobs', new Uint8Array(1))).toBe('ok');
    expect(sleeper.publish('jobs', new Uint8Array(1))).toBe('full');
    sleeper.receive('jobs');
    expect(sleeper.publish('jobs', new Uint8Array(messageBytes))).toBe('ok');
  });

  it('holds up nobody else', () => {
    const channels = openChannels();
    const [sleeper, reader] = [subscribe(channels), subscribe(channels)];
    for (let i = 0; i < 2 * queueMessages; i++) {
      expect(reader.publish('jobs', bytesOf(`${i}`))).toBe('ok');
      expect(drain(reader)).toEqual([`${i}`]);
    }
    expect(drain(sleeper)).toHaveLength(queueMessages);
  });
});

describe('a tenant', () => {
  it('has 1,024 channels and no more, until one of them is left', () => {
    const channels = openChannels();
    const names = Array.from({ length: channelsPerTenant }, (_, i) => `c${i}`);
    const [first = ''] = names;
    const one = subscribe(channels, { receive: [first] });
    const rest = subscribe(channels, { receive: names.slice(1) });
    const terms = { tenant: 'acme', sender: ADA, publish: [], receive: [first, 'new'] };
    expect(channels.join(terms)).toBeNull();
    expect(channels.join({ ...terms, receive: [first] })).not.toBeNull();
    expect(channels.join({ ...terms, tenant: 'umbrella' })).not.toBeNull();
    rest.close();
    expect(channels.join(terms)).not.toBeNull();
    one.close();
  });

  it('has so many subscribers and no more, and what was refused has taken nothing', () => {
    const channels = openChannels();
    const terms = { tenant: 'acme', sender: ADA, publish: [] };
    const two = { ...terms, receive: ['a', 'b'] };
    const subscribers = Array.from({ length: subscribersPerTenant / 2 }, () => channels.join(two));
    expect(subscribers).not.toContain(null);
    expect(channels.join({ ...terms, receive: ['a'] })).toBeNull();
    subscribers[0]?.close();
    expect(channels.join({ ...terms, receive: ['a', 'b', 'c'] })).toBeNull();
    expect(channels.join(two)).not.toBeNull();
    expect(channels.join({ ...terms, receive: ['a'] })).toBeNull();
  });

  it('holds 64 MiB in all queues together, which closed subscriptions and received messages release', () => {
    const channels = openChannels();
    const perQueue = queueBytes / messageBytes;
    const most = CHANNEL_LIMITS.tenantBytes / queueBytes;
    const subscribers = Array.from({ length: most }, () => subscribe(channels));
    for (let i = 0; i < perQueue; i++) subscribers[0]?.publish('jobs', new Uint8Array(messageBytes));
    const late = subscribe(channels, { publish: ['late'], receive: ['late'] });
    expect(late.publish('late', new Uint8Array(1))).toBe('full');
    const others = subscribe(channels, { tenant: 'umbrella' });
    expect(others.publish('jobs', new Uint8Array(1))).toBe('ok');
    subscribers[0]?.receive('jobs');
    expect(late.publish('late', new Uint8Array(messageBytes))).toBe('ok');
    expect(late.publish('late', new Uint8Array(1))).toBe('full');
    for (const subscription of subscribers) subscription.close();
    expect(late.publish('late', new Uint8Array(1))).toBe('ok');
  });
});
