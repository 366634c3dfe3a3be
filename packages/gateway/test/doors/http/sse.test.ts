import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeEvent } from '../../../src/doors/http/answer.ts';
import { readEvents } from '../../../src/doors/http/local-client.ts';
import type { ServerEvent } from '../../../src/operations/operation.ts';
import { bearer, openTestDoor, sendBytes } from './open-door.ts';

test('events come back as they were written, wherever the bytes are cut', async () => {
  const event = fc.record({
    event: fc.constantFrom('output', 'ended'),
    id: fc.nat().map(String),
    data: fc.jsonValue(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(event), fc.nat({ max: 40 }), async (events, step) => {
      const bytes = Buffer.from(
        `: still here\n\n${events.map((each) => encodeEvent(each as ServerEvent)).join('')}`,
      );
      const read: ServerEvent[] = [];
      for await (const each of readEvents(cut(bytes, step + 1))) read.push(each);
      expect(JSON.stringify(read)).toBe(
        JSON.stringify(events.map(({ event: name, id, data }) => ({ event: name, id, data }))),
      );
    }),
  );
});

async function* cut(bytes: Buffer, step: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}

test('a name of an event cannot begin another one', () => {
  expect(encodeEvent({ event: 'a\ndata: x', id: '1\n\nevent: y', data: 'b\n\nevent: z' })).toBe(
    'event: a data: x\nid: 1  event: y\ndata: "b\\n\\nevent: z"\n\n',
  );
});

test('a stream tells its handler when the reader goes away', async () => {
  const { ask, seen } = await openTestDoor();
  const stop = new AbortController();
  const reading = ask('/t/events', { headers: bearer('read'), signal: stop.signal }).catch(() => null);
  await expect.poll(() => seen.signals.length, { timeout: 20_000 }).toBe(1);
  expect(seen.signals[0]?.aborted).toBe(false);
  stop.abort();
  await reading;
  await expect.poll(() => seen.signals[0]?.aborted).toBe(true);
});

test('a stream is not begun for HEAD, and says what it is', async () => {
  const { ask, port } = await openTestDoor();
  const head = await ask('/t/events', { method: 'HEAD', headers: bearer('read') });
  expect(head.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
  });
  expect(await sendBytes(port, 'GET /t/events HTTP/1.0\r\nhost: localhost\r\n\r\n')).toContain('401');
});
