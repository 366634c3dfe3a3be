import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { allowing, eventually, HELLO, NAME, startTarget } from '../proxy/world.ts';
import { codeOf, LOOPBACK, openBoth, openWorld, redirectTo, textOf } from './world.ts';

/** Times that no other timer of the process has. */
const limits = { wholeMs: 412_341, connectMs: 412_342, idleMs: 412_343 };
const OUR_TIMES: ReadonlySet<unknown> = new Set(Object.values(limits));

/** Keeps the timers that are set with these times, and takes out those that are cleared. */
function watchTimers() {
  const open = new Set<unknown>();
  const [set, clear] = [setTimeout, clearTimeout];
  let made = 0;
  vi.stubGlobal('setTimeout', (act: () => void, ms?: number) => {
    const timer = set(act, ms);
    if (OUR_TIMES.has(ms)) {
      open.add(timer);
      made += 1;
    }
    return timer;
  });
  vi.stubGlobal('clearTimeout', (timer: NodeJS.Timeout) => {
    open.delete(timer);
    clear(timer);
  });
  return { open, made: () => made };
}

afterEach(() => vi.unstubAllGlobals());

const ENDINGS: readonly (readonly [string, string, string])[] = [
  ['ok', 'all is well', HELLO],
  ['malformed', 'the answer is malformed', 'hello'],
  ['malformed', 'the body stops', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello'],
  ['malformed', 'it cannot be unpacked', 'HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nhello'],
  ['too-large', 'the body is too long', `HTTP/1.1 200 OK\r\n\r\n${'a'.repeat(200)}`],
  ['too-many-redirects', 'it leads round and round', redirectTo('/')],
  ['denied', 'it leads to a denied host', redirectTo('http://denied.test/')],
];

describe('after a fetch', () => {
  it.each(ENDINGS)('that ends %s (%s) nothing is left', async (code, _what, answer) => {
    const { signal } = new AbortController();
    const { get, url, target } = await openBoth(answer, {
      limits: { ...limits, responseBytes: 100 },
      signal,
    });
    const timers = watchTimers();
    expect(codeOf(await get(url))).toBe(code);
    expect(timers.made()).toBeGreaterThan(2);
    expect(timers.open.size).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await eventually(() => target.sockets.every((socket) => socket.readableEnded || socket.destroyed));
  });

  it('that was denied nothing was begun', async () => {
    const { signal } = new AbortController();
    const { get } = openWorld({ limits, signal });
    const timers = watchTimers();
    expect(codeOf(await get('http://denied.test/'))).toBe('denied');
    expect([timers.open.size, getEventListeners(signal, 'abort')]).toEqual([0, []]);
  });

  it('whose record fails nothing is left', async () => {
    const { signal } = new AbortController();
    const fail = () => {
      throw new Error('full');
    };
    const { get, url, target } = await openBoth(HELLO, { limits, signal, onDecision: fail });
    const timers = watchTimers();
    await expect(get(url)).rejects.toThrow('full');
    expect([timers.open.size, getEventListeners(signal, 'abort')]).toEqual([0, []]);
    await eventually(() => target.sockets.every((socket) => socket.readableEnded || socket.destroyed));
  });
});

describe('the signal', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n';

  it.each([
    ['before the answer', 'http', ''],
    ['in the head', 'http', 'HTTP/1.1 200'],
    ['in the body', 'http', `${HEAD}hello`],
    ['in a body that is packed', 'http', `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b`],
    ['in the handshake', 'https', ''],
  ])('ends it at once %s, and nothing is left', async (_what, scheme, answer) => {
    const controller = new AbortController();
    const target = await startTarget((socket) => {
      socket.once('data', () => socket.write(Buffer.from(answer, 'latin1')));
    });
    const { get } = openWorld({
      entries: allowing(NAME, target.port),
      answers: LOOPBACK,
      limits,
      signal: controller.signal,
    });
    const timers = watchTimers();
    const fetching = get(`${scheme}://${NAME}:${target.port}/`);
    await eventually(() => (target.seen[0] ?? '') !== '');
    // Time for what was sent to be read; an abort too early would only test another moment.
    await new Promise((resolve) => setTimeout(resolve, 30));
    controller.abort();
    expect(textOf(await fetching)).toBe('cancelled: Cannot go on: the caller has ended the call');
    expect([timers.open.size, getEventListeners(controller.signal, 'abort')]).toEqual([0, []]);
    await eventually(() => target.sockets.every((socket) => socket.readableEnded || socket.destroyed));
  });

  it('ends it while a name is looked up', async () => {
    const controller = new AbortController();
    const reported: AbortSignal[] = [];
    const { get, asked } = openWorld({ entries: [NAME], limits, signal: controller.signal });
    const timers = watchTimers();
    const fetching = get(
      `http://${NAME}/`,
      {},
      {
        resolve: {
          lookup: (_name, signal) => {
            reported.push(signal);
            return new Promise(() => {});
          },
          own: { addresses: [], ports: new Set() },
          lookupMs: 412_341,
        },
      },
    );
    await eventually(() => reported.length === 1);
    controller.abort();
    expect(codeOf(await fetching)).toBe('cancelled');
    expect(reported[0]?.aborted).toBe(true);
    expect([timers.open.size, getEventListeners(controller.signal, 'abort'), asked]).toEqual([0, [], []]);
  });

  it('that was aborted before lets nothing begin', async () => {
    const { get, url, target, asked } = await openBoth(HELLO, { signal: AbortSignal.abort() });
    expect(await get(url)).toMatchObject({ code: 'cancelled', hops: [], bytesOut: 0 });
    expect({ asked, seen: target.seen }).toEqual({ asked: [], seen: [] });
  });

  it('ends it when its record is written, before anything is sent', async () => {
    const controller = new AbortController();
    const { get, url, target } = await openBoth(HELLO, {
      signal: controller.signal,
      onDecision: () => controller.abort(),
    });
    expect(codeOf(await get(url))).toBe('cancelled');
    expect(target.seen.join('')).toBe('');
  });
});
