import { describe, expect, it } from 'vitest';
import { CHANNEL_LIMITS } from '../../src/channels/queue.ts';
import { EventStream, type ServerEvent } from '../../src/operations/operation.ts';
import { GRACE, openTestGateway, recordsOf, type TestGateway } from '../fixture/gateway.ts';
import { ask, callerOf, reply } from './ask.ts';

const OPERATOR = callerOf(GRACE);
const TENANT = callerOf({ kind: 'user', name: 'tess' }, undefined, 'acme');
const AGENT = callerOf({ kind: 'agent', name: 'ada' });
const SENDER = { principal: { kind: 'agent', name: 'ada' }, skill: 'acme.notes' } as const;

const publish = (gateway: TestGateway, body: string | Uint8Array, as = OPERATOR, channel = 'news') =>
  ask(gateway, 'publishMessage', {
    as,
    params: { channel },
    body: typeof body === 'string' ? Uint8Array.from(Buffer.from(body)) : body,
  });

/** Listens until it is stopped; gives each event when it comes. */
async function listen(gateway: TestGateway, as = OPERATOR) {
  const stop = new AbortController();
  const supplied = await reply(gateway, 'listenToChannel', {
    ...{ as, params: { channel: 'news' }, signal: stop.signal },
  });
  if (!(supplied instanceof EventStream)) throw new Error('it is not a stream');
  const events = supplied.events[Symbol.asyncIterator]();
  const next = async () => (await events.next()).value as ServerEvent;
  expect(await next()).toEqual({ event: 'listening', data: { channel: 'news' } });
  return { next, stop: () => stop.abort(), events };
}

describe('/v1/channels', () => {
  it('gives a listener what is published, as text or in base64, with who it is from', async () => {
    const gateway = await openTestGateway();
    const listener = await listen(gateway);
    gateway.channels.publish('default', 'news', Buffer.from('a\n\ndata: ü'), SENDER);
    const { data: text } = await listener.next();
    expect(text).toMatchObject({
      ...{ sender: { principal: 'agent:ada', skill: 'acme.notes' }, missed: 0 },
      ...{ encoding: 'utf-8', message: 'a\n\ndata: ü' },
    });
    const { body } = await publish(gateway, Uint8Array.of(0xff, 0));
    expect(body).toEqual({ channel: 'news', bytes: 2, taken: 1, full: 0, silent: 0 });
    const { data: bytes } = await listener.next();
    expect(bytes).toMatchObject({
      sender: { principal: 'user:grace', skill: null },
      encoding: 'base64',
      message: '/wA=',
    });
  });

  it('tells a listener that does not read how many messages it has missed', async () => {
    const gateway = await openTestGateway();
    const listener = await listen(gateway);
    const most = CHANNEL_LIMITS.queueMessages;
    for (let i = 0; i < most + 3; i++)
      gateway.channels.publish('default', 'news', Buffer.from(`${i}`), SENDER);
    for (let i = 0; i < most; i++)
      expect((await listener.next()).data).toMatchObject({ message: `${i}`, missed: 0 });
    gateway.channels.publish('default', 'news', Buffer.from('after'), SENDER);
    expect((await listener.next()).data).toMatchObject({ message: 'after', missed: 3 });
  });

  it('lists the channels with subscribers, and forgets a listener that leaves or that no one reads', async () => {
    const gateway = await openTestGateway();
    const list = async () => (await ask(gateway, 'listChannels', { as: OPERATOR })).body.channels;
    const listener = await listen(gateway);
    expect(await list()).toEqual([{ channel: 'news', subscribers: 1 }]);
    const waiting = listener.events.next();
    listener.stop();
    expect((await waiting).done).toBe(true);
    await reply(gateway, 'listenToChannel', { as: OPERATOR, params: { channel: 'news' } });
    expect(await list()).toEqual([]);
  });

  it('records what is published by its digest, and nothing that was refused', async () => {
    const gateway = await openTestGateway();
    await publish(gateway, 'between-us');
    expect((await publish(gateway, 'x', OPERATOR, '../news')).status).toBe(400);
    expect((await publish(gateway, new Uint8Array(CHANNEL_LIMITS.messageBytes + 1))).status).toBe(413);
    expect((await publish(gateway, 'x', AGENT)).status).toBe(403);
    const records = recordsOf(gateway).filter(({ kind }) => kind === 'channel-published');
    expect(records.map(({ line }) => JSON.parse(line).body)).toEqual([
      {
        ...{ channel: 'news', bytes: 10, door: 'http', credential: 'token:tok_test' },
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
    expect(JSON.stringify(records)).not.toContain('between-us');
  });

  it('is of the tenant of the caller alone', async () => {
    const gateway = await openTestGateway();
    const [own, other] = [await listen(gateway), await listen(gateway, TENANT)];
    expect((await publish(gateway, 'for acme', TENANT)).body).toMatchObject({ taken: 1 });
    expect((await publish(gateway, 'for default')).body).toMatchObject({ taken: 1 });
    expect((await own.next()).data).toMatchObject({ message: 'for default' });
    expect((await other.next()).data).toMatchObject({ message: 'for acme' });
    expect((await ask(gateway, 'listChannels', { as: TENANT })).body.channels).toMatchObject([
      { subscribers: 1 },
    ]);
  });

  it.each(['listChannels', 'listenToChannel', 'publishMessage'])(
    'refuses %s to a token without its scope',
    async (name) => {
      const gateway = await openTestGateway();
      const as = callerOf(GRACE, ['call', 'read']);
      const params = name === 'listChannels' ? {} : { channel: 'news' };
      const body = name === 'publishMessage' ? new Uint8Array(1) : undefined;
      expect((await ask(gateway, name, { as, params, body })).status).toBe(403);
      expect((await ask(gateway, name, { as: AGENT, params, body })).status).toBe(403);
      await expect(reply(gateway, name, { as: OPERATOR, params, body })).resolves.toBeDefined();
    },
  );
});
