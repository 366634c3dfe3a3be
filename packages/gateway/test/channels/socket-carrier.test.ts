import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CallChannels } from '../../src/channels/channels.ts';
import { CHANNEL_LIMITS } from '../../src/channels/queue.ts';
import { joinState, stateDir } from './processes.ts';
import { ADA, BOB, bytesOf, drain, subscribe, textOf } from './sample.ts';

const NEVER = new AbortController().signal;
const LONG_MS = 20_000;

async function next(subscription: CallChannels) {
  return subscription.wait('jobs', NEVER, LONG_MS);
}

async function texts(subscription: CallChannels, count: number): Promise<(string | null)[]> {
  const found: (string | null)[] = [];
  while (found.length < count) found.push(textOf(await next(subscription)));
  return found;
}

/** Two processes of one state directory. */
function twoProcesses(directory = stateDir()) {
  return { directory, one: joinState(directory, 'p_one'), other: joinState(directory, 'p_other') };
}

describe('a message of another process', () => {
  it('reaches every subscriber of its channel with the name of its sender', async () => {
    const { one, other } = twoProcesses();
    const [ada, bob] = [subscribe(one.channels), subscribe(other.channels, { sender: BOB })];
    const third = subscribe(other.channels);
    expect(ada.publish('jobs', bytesOf('x'))).toBe('ok');
    for (const each of [ada, bob, third])
      expect(await next(each)).toEqual({ bytes: new Uint8Array(bytesOf('x')), sender: ADA, missed: 0 });
    expect(bob.publish('jobs', bytesOf('y'))).toBe('ok');
    expect(await next(ada)).toMatchObject({ sender: BOB });
  });

  it('comes in the order in which its process published', async () => {
    const { one, other } = twoProcesses();
    const listener = subscribe(other.channels);
    const sent = Array.from({ length: 100 }, (_, i) => `${i}`);
    for (const text of sent) one.channels.publish('acme', 'jobs', bytesOf(text), ADA);
    expect(await texts(listener, sent.length)).toEqual(sent);
  });

  it.each([0, 1, CHANNEL_LIMITS.messageBytes])('may have %d bytes', async (size) => {
    const { one, other } = twoProcesses();
    const listener = subscribe(other.channels);
    const bytes = new Uint8Array(size).fill(0xff);
    expect(one.channels.publish('acme', 'jobs', bytes, ADA)).toBe('ok');
    expect(await next(listener)).toMatchObject({ bytes });
  });

  it('is not for another tenant, and not for another channel', async () => {
    const { one, other } = twoProcesses();
    const [globex, news] = [
      subscribe(other.channels, { tenant: 'globex' }),
      subscribe(other.channels, { receive: ['news'] }),
    ];
    const listener = subscribe(other.channels);
    one.channels.publish('acme', 'jobs', bytesOf('x'), ADA);
    expect(textOf(await next(listener))).toBe('x');
    expect(globex.receive('jobs')).toBeNull();
    expect(news.receive('news')).toBeNull();
  });

  it('arrives although its process ends right after it', async () => {
    const { one, other } = twoProcesses();
    const listener = subscribe(other.channels);
    for (const text of ['a', 'b', 'c']) one.channels.publish('acme', 'jobs', bytesOf(text), ADA);
    await one.leave();
    expect(await texts(listener, 3)).toEqual(['a', 'b', 'c']);
  });

  it('arrives where the path of the state directory is too long for a socket', async () => {
    const { one, other } = twoProcesses(stateDir(`/${'long'.repeat(30)}`));
    const listener = subscribe(other.channels);
    one.channels.publish('acme', 'jobs', bytesOf('x'), ADA);
    expect(textOf(await next(listener))).toBe('x');
  });
});

describe('deliver()', () => {
  it('counts the subscribers of all processes, and those that have no room', async () => {
    const { one, other } = twoProcesses();
    const [here, there] = [subscribe(one.channels), subscribe(other.channels)];
    const deliver = () => one.channels.deliver('acme', 'jobs', bytesOf('x'), BOB);
    expect(await deliver()).toEqual({ taken: 2, full: 0, silent: 0 });
    for (let i = 1; i < CHANNEL_LIMITS.queueMessages; i++) await deliver();
    drain(here);
    expect(await deliver()).toEqual({ taken: 1, full: 1, silent: 0 });
    expect(drain(there)).toHaveLength(CHANNEL_LIMITS.queueMessages);
    await deliver();
    expect(there.receive('jobs')).toMatchObject({ missed: 1 });
  });

  it('gives nothing where no one listens, and refuses a long message', async () => {
    const { one } = twoProcesses();
    expect(await one.channels.deliver('acme', 'jobs', bytesOf('x'), BOB)).toEqual({
      taken: 0,
      full: 0,
      silent: 0,
    });
    const long = new Uint8Array(CHANNEL_LIMITS.messageBytes + 1);
    expect(await one.channels.deliver('acme', 'jobs', long, BOB)).toBe('too-large');
  });
});

describe('list()', () => {
  it('has the channels of the tenant in all processes, by name', async () => {
    const { one, other } = twoProcesses();
    subscribe(one.channels);
    subscribe(other.channels, { receive: ['jobs', 'alarms'] });
    subscribe(other.channels, { tenant: 'globex', receive: ['secret-plans'] });
    const channels = [
      { channel: 'alarms', subscribers: 1 },
      { channel: 'jobs', subscribers: 2 },
    ];
    for (const { channels: each } of [one, other]) {
      expect(await each.list('acme')).toEqual({ channels, silent: 0 });
    }
  });
});

describe('the folder of channels', () => {
  it('does not exist before someone subscribes', async () => {
    const { directory, one } = twoProcesses();
    subscribe(one.channels, { receive: [] }).publish('jobs', bytesOf('x'));
    await one.channels.deliver('acme', 'jobs', bytesOf('x'), BOB);
    expect(existsSync(join(directory, 'channels'))).toBe(false);
  });

  it('is for its owner alone, and so are the sockets in it', () => {
    const { directory, one } = twoProcesses();
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    subscribe(one.channels);
    const modeOf = (path: string) => statSync(join(directory, path)).mode & 0o777;
    expect([modeOf('channels'), modeOf('channels/p_one.sock')]).toEqual([0o700, 0o600]);
  });

  it('is empty when the last subscriber has left and the processes have ended', async () => {
    const { directory, one, other } = twoProcesses();
    const subscriptions = [one, other].map(({ channels }) => subscribe(channels));
    one.channels.publish('acme', 'jobs', bytesOf('x'), ADA);
    for (const each of subscriptions) each.close();
    await Promise.all([one.leave(), other.leave()]);
    expect(readdirSync(join(directory, 'channels'))).toEqual([]);
  });

  it('is freed of what killed processes left, by a publisher and by the next subscriber', async () => {
    const { directory, one } = twoProcesses();
    const listener = subscribe(one.channels);
    const folder = join(directory, 'channels');
    const [subject = ''] = readdirSync(folder).filter((name) => !name.endsWith('.sock'));
    // A process that was killed: its files are there, and the lock of its presence is free.
    const die = (id: string) => {
      writeFileSync(join(folder, `${id}.sock`), '');
      writeFileSync(join(folder, subject, id), '');
    };
    die('p_dead');
    expect(one.channels.publish('acme', 'jobs', bytesOf('x'), ADA)).toBe('ok');
    expect(textOf(await next(listener))).toBe('x');
    await expect.poll(() => readdirSync(join(folder, subject))).toEqual(['p_one']);
    die('p_dead-too');
    subscribe(joinState(directory, 'p_third').channels);
    expect(
      readdirSync(folder)
        .filter((name) => name.endsWith('.sock'))
        .sort(),
    ).toEqual(['p_one.sock', 'p_third.sock']);
    expect(readdirSync(join(folder, subject)).sort()).toEqual(['p_one', 'p_third']);
  });
});

describe('a process that does not read', () => {
  /** It is alive, listens, and takes nothing. */
  async function stuckProcess(directory: string, subject: string) {
    const { id } = joinState(directory, 'p_stuck');
    const folder = join(directory, 'channels');
    const server = createServer((socket) => {
      socket.pause().on('error', () => undefined);
      onTestFinished(() => void socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(join(folder, `${id}.sock`), resolve));
    onTestFinished(() => void server.close());
    mkdirSync(join(folder, subject), { recursive: true });
    writeFileSync(join(folder, subject, id), '');
  }

  it('delays no publisher and no other subscriber, and is full after a bounded number of bytes', async () => {
    const { directory, one, other } = twoProcesses();
    const listener = subscribe(other.channels);
    const [subject = ''] = readdirSync(join(directory, 'channels')).filter((name) => !name.endsWith('.sock'));
    await stuckProcess(directory, subject);
    const bytes = new Uint8Array(CHANNEL_LIMITS.messageBytes);
    const rounds = (4 * CHANNEL_LIMITS.queueBytes) / bytes.length;
    for (let i = 0; i < rounds; i++) {
      expect(one.channels.publish('acme', 'jobs', bytes, ADA)).toBe('ok');
      expect(await next(listener)).toMatchObject({ missed: 0 });
    }
    await other.leave();
    await expect.poll(() => one.channels.publish('acme', 'jobs', bytes, ADA)).toBe('full');
    // Another tenant has a share of its own.
    expect(one.channels.publish('globex', 'jobs', bytes, ADA)).toBe('ok');
  });

  it('is silent in what an operator is told', async () => {
    const { directory, one, other } = twoProcesses();
    subscribe(other.channels);
    const [subject = ''] = readdirSync(join(directory, 'channels')).filter((name) => !name.endsWith('.sock'));
    await stuckProcess(directory, subject);
    expect(await one.channels.deliver('acme', 'jobs', bytesOf('x'), BOB)).toEqual({
      taken: 1,
      full: 0,
      silent: 1,
    });
    expect(await one.channels.list('acme')).toMatchObject({ silent: 1 });
  });
});
