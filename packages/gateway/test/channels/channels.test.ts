import { describe, expect, it } from 'vitest';
import { CHANNEL_LIMITS } from '../../src/channels/queue.ts';
import { ADA, BOB, bytesOf, drain, openChannels, sit, textOf } from './sample.ts';

const { messageBytes, queueMessages, queueBytes, channelsPerTenant, subscribersPerTenant } = CHANNEL_LIMITS;

describe('a message', () => {
  it('reaches everybody on the channel, in the order of publishing, with the name of its sender', () => {
    const channels = openChannels();
    const [ada, bob] = [sit(channels), sit(channels, { sender: BOB })];
    expect(ada.publish('jobs', bytesOf('one'))).toBe('ok');
    expect(bob.publish('jobs', bytesOf('two'))).toBe('ok');
    for (const seat of [ada, bob]) {
      expect(seat.receive('jobs')).toEqual({ bytes: new Uint8Array(bytesOf('one')), sender: ADA, missed: 0 });
      expect(seat.receive('jobs')).toEqual({ bytes: new Uint8Array(bytesOf('two')), sender: BOB, missed: 0 });
      expect(seat.receive('jobs')).toBeNull();
    }
  });

  it('is lost without harm when nobody listens, and does not reach who comes later', () => {
    const channels = openChannels();
    const publisher = sit(channels, { receive: [] });
    expect(publisher.publish('jobs', bytesOf('early'))).toBe('ok');
    const late = sit(channels);
    expect(late.receive('jobs')).toBeNull();
    expect(publisher.publish('jobs', bytesOf('now'))).toBe('ok');
    expect(drain(late)).toEqual(['now']);
  });

  it.each([0, 1, messageBytes])('of %d bytes is taken', (size) => {
    const seat = sit(openChannels());
    expect(seat.publish('jobs', new Uint8Array(size).fill(7))).toBe('ok');
    expect(seat.receive('jobs')).toMatchObject({ bytes: new Uint8Array(size).fill(7) });
  });

  it('above 64 KiB is refused, whether or not somebody listens', () => {
    const channels = openChannels();
    const publisher = sit(channels, { receive: [] });
    expect(publisher.publish('jobs', new Uint8Array(messageBytes + 1))).toBe('too-large');
    const listener = sit(channels);
    expect(publisher.publish('jobs', new Uint8Array(messageBytes + 1))).toBe('too-large');
    expect(listener.receive('jobs')).toBeNull();
  });

  it('is as it was when it was published, whatever sender and receivers do to their bytes', () => {
    const channels = openChannels();
    const [first, second] = [sit(channels), sit(channels)];
    const memory = Buffer.from('honest');
    first.publish('jobs', memory);
    memory.fill('x');
    const received = first.receive('jobs');
    expect(textOf(received)).toBe('honest');
    if (received !== null && received !== 'denied') received.bytes.fill(0);
    expect(textOf(second.receive('jobs'))).toBe('honest');
  });
});

describe('a seat', () => {
  it('reaches the channels that were granted, each for its own act, and no others', async () => {
    const channels = openChannels();
    const seat = sit(channels, { publish: ['out'], receive: ['in'] });
    const other = sit(channels, { publish: ['in', 'secret'], receive: ['out', 'secret'] });
    expect(seat.publish('out', bytesOf('x'))).toBe('ok');
    expect(textOf(other.receive('out'))).toBe('x');
    for (const name of ['in', 'secret', '', 'OUT', '__proto__', 'constructor'])
      expect(seat.publish(name, bytesOf('x')), name).toBe('denied');
    other.publish('secret', bytesOf('x'));
    for (const name of ['out', 'secret', '', 'IN', '__proto__', 'constructor']) {
      expect(seat.receive(name), name).toBe('denied');
      expect(await seat.wait(name, new AbortController().signal, 1_000), name).toBe('denied');
    }
    expect(textOf(other.receive('secret'))).toBe('x');
  });

  it('of another tenant has channels of the same name and hears nothing of them', () => {
    const channels = openChannels();
    const ours = sit(channels);
    const theirs = sit(channels, { tenant: 'umbrella' });
    ours.publish('jobs', bytesOf('ours'));
    expect(theirs.receive('jobs')).toBeNull();
    theirs.publish('jobs', bytesOf('theirs'));
    expect(drain(ours)).toEqual(['ours']);
    expect(drain(theirs)).toEqual(['theirs']);
  });

  it('is of no use once closed, and closing it twice closes no other', () => {
    const channels = openChannels();
    const [gone, stays] = [sit(channels), sit(channels)];
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
    const publisher = sit(channels, { receive: [] });
    const first = sit(channels);
    const before = sit(channels, { receive: [] });
    first.close();
    const listener = sit(channels);
    publisher.close();
    before.close();
    const other = sit(channels, { receive: [] });
    expect(other.publish('jobs', bytesOf('x'))).toBe('ok');
    expect(drain(listener)).toEqual(['x']);
  });

  it('is not given for a name that is none', () => {
    const channels = openChannels();
    for (const name of ['', 'Jobs', 'a/b', '../a', 'a'.repeat(65)]) {
      expect(() => sit(channels, { publish: [name] }), name).toThrow(TypeError);
      expect(() => sit(channels, { receive: [name] }), name).toThrow(TypeError);
    }
  });
});

describe('a subscriber who does not receive', () => {
  it('keeps 256 messages, misses what comes then, and is told how many that were', () => {
    const channels = openChannels();
    const sleeper = sit(channels);
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
    const sleeper = sit(openChannels());
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
    const [sleeper, reader] = [sit(channels), sit(channels)];
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
    const one = sit(channels, { receive: [first] });
    const rest = sit(channels, { receive: names.slice(1) });
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
    const seats = Array.from({ length: subscribersPerTenant / 2 }, () => channels.join(two));
    expect(seats).not.toContain(null);
    expect(channels.join({ ...terms, receive: ['a'] })).toBeNull();
    seats[0]?.close();
    expect(channels.join({ ...terms, receive: ['a', 'b', 'c'] })).toBeNull();
    expect(channels.join(two)).not.toBeNull();
    expect(channels.join({ ...terms, receive: ['a'] })).toBeNull();
  });

  it('holds 64 MiB in all queues together, and has it back when seats are closed or messages received', () => {
    const channels = openChannels();
    const perQueue = queueBytes / messageBytes;
    const most = CHANNEL_LIMITS.tenantBytes / queueBytes;
    const seats = Array.from({ length: most }, () => sit(channels));
    for (let i = 0; i < perQueue; i++) seats[0]?.publish('jobs', new Uint8Array(messageBytes));
    const late = sit(channels, { publish: ['late'], receive: ['late'] });
    expect(late.publish('late', new Uint8Array(1))).toBe('full');
    const others = sit(channels, { tenant: 'umbrella' });
    expect(others.publish('jobs', new Uint8Array(1))).toBe('ok');
    seats[0]?.receive('jobs');
    expect(late.publish('late', new Uint8Array(messageBytes))).toBe('ok');
    expect(late.publish('late', new Uint8Array(1))).toBe('full');
    for (const seat of seats) seat.close();
    expect(late.publish('late', new Uint8Array(1))).toBe('ok');
  });
});
