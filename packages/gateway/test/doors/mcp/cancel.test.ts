import { describe, expect, it } from 'vitest';
import {
  bodyOf,
  kindsOf,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
  type TestGateway,
} from '../../fixture/gateway.ts';
import { eventually, type Message, openMcp, RawClient } from './raw-client.ts';

const SLEEP = { name: 'palisade.sleep', arguments: { ms: 600_000 } };

/** How the calls of a gateway ended, by their codes. */
function endings(gateway: TestGateway): unknown[] {
  return recordsOf(gateway)
    .filter(({ kind }) => kind === 'ended')
    .map((row) => bodyOf(row).code);
}

describe('a call that is cancelled', () => {
  it.each(['legacy', 'modern'] as const)('ends, is recorded and is not answered (%s)', async (era) => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL });
    const client = new RawClient(openMcp(gateway));
    const { envelope } = await import('./raw-client.ts');
    if (era === 'legacy') await client.initialize();
    const id = client.ask('tools/call', era === 'legacy' ? SLEEP : { ...SLEEP, _meta: envelope() });
    await eventually(() => gateway.running.size).toBe(1);
    client.notify('notifications/cancelled', { requestId: id, reason: 'changed my mind' });
    await eventually(() => gateway.running.size).toBe(0);
    expect(endings(gateway)).toEqual(['tier/cancelled']);
    const [callId] = recordsOf(gateway).flatMap(({ call }) => call ?? []);
    expect(kindsOf(gateway, callId ?? '')).toEqual(['intent', 'ended']);
    // The connection goes on, and nothing came for the call meanwhile.
    era === 'legacy' ? await client.request('ping') : await client.modern('server/discover');
    expect(client.messages.filter((message: Message) => message.id === id)).toEqual([]);
  });

  it('ends also where the word comes with it, before it, twice, or for another', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL });
    const client = new RawClient(openMcp(gateway));
    await client.initialize();
    const cancel = (requestId: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId },
    });
    const sleep = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: SLEEP });
    client.write(
      [cancel(1), sleep(2), cancel(2), cancel(2), cancel(99)].map((m) => `${JSON.stringify(m)}\n`).join(''),
    );
    await eventually(() => endings(gateway)).toEqual(['tier/cancelled']);
    client.write(`${JSON.stringify(sleep(1))}\n`);
    await eventually(() => gateway.running.size).toBe(1);
    client.send(cancel(1));
    await eventually(() => endings(gateway)).toEqual(['tier/cancelled', 'tier/cancelled']);
  });

  it('leaves a call that has ended as it is', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL });
    const client = new RawClient(openMcp(gateway));
    await client.initialize();
    const { id } = await client.request('tools/call', { name: 'palisade.echo' });
    client.notify('notifications/cancelled', { requestId: id });
    expect((await client.request('tools/call', { name: 'palisade.echo' })).result.isError).toBeUndefined();
    expect(endings(gateway)).toEqual(['ok', 'ok']);
  });
});

describe('a connection that ends', () => {
  it('cancels what runs, and is over when all of it is recorded', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL });
    const client = new RawClient(openMcp(gateway));
    await client.initialize();
    for (let i = 0; i < 5; i++) client.ask('tools/call', SLEEP);
    await eventually(() => gateway.running.size).toBe(5);
    client.stdin.end();
    await client.served;
    expect(gateway.running.size).toBe(0);
    expect(endings(gateway)).toEqual(Array(5).fill('tier/cancelled'));
  });

  it.each<[string, (client: RawClient, stop: AbortController) => void]>([
    ['nobody reads any more', (client) => void client.stdout.destroy(new Error('EPIPE'))],
    ['the input breaks', (client) => void client.stdin.destroy(new Error('EIO'))],
    ['we are told to stop', (_client, stop) => stop.abort()],
  ])('ends so as well where %s', async (_what, end) => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL });
    const stop = new AbortController();
    const client = new RawClient(openMcp(gateway), undefined, stop.signal);
    await client.initialize();
    client.ask('tools/call', SLEEP);
    await eventually(() => gateway.running.size).toBe(1);
    end(client, stop);
    await client.served;
    expect(endings(gateway)).toEqual(['tier/cancelled']);
  });

  it('that never began is over at once', async () => {
    const gateway = await openTestGateway();
    const client = new RawClient(openMcp(gateway));
    client.stdin.end();
    await client.served;
    expect(client.lines).toEqual([]);
  });

  it('is not read from while its client does not read', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL });
    const client = new RawClient(openMcp(gateway));
    await client.initialize();
    client.stdout.pause();
    const ids = Array.from({ length: 20_000 }, () => client.ask('tools/list'));
    await eventually(() => client.stdin.isPaused()).toBe(true);
    const held = client.stdout.readableLength + client.stdout.writableLength;
    expect(held).toBeLessThan(8 * 1024 * 1024);
    client.stdout.resume();
    await eventually(() => client.messages.length).toBe(ids.length + 1);
    const turnedAway = client.messages.filter(({ error }: Message) => error?.code === -32_000);
    expect(turnedAway.length).toBeGreaterThan(0);
    expect((await client.request('tools/list')).result.tools.length).toBeGreaterThan(0);
  });
});

describe('progress', () => {
  const SLOW = makeTool('a.slow', async (_input, signal) => {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 2_500);
      signal.addEventListener('abort', () => clearTimeout(timer));
    });
    return {};
  });

  it('is told where it was asked for, grows, comes at most once a second, and ends with the call', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL, tools: [SLOW] });
    const client = new RawClient(openMcp(gateway));
    await client.initialize();
    const { id } = await client.request('tools/call', { name: 'a.slow', _meta: { progressToken: 'tok' } });
    const reported = client.messages.filter(({ method }: Message) => method === 'notifications/progress');
    expect(reported.length).toBeGreaterThanOrEqual(1);
    expect(reported.length).toBeLessThanOrEqual(3);
    const steps = reported.map(({ params }: Message) => params.progress);
    expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b));
    expect(reported.every(({ params }: Message) => params.progressToken === 'tok')).toBe(true);
    expect(client.messages.at(-1)?.id).toBe(id);
  });

  it('is not told where nobody asked', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL, tools: [SLOW] });
    const client = new RawClient(openMcp(gateway));
    await client.initialize();
    await client.request('tools/call', { name: 'a.slow' });
    expect(client.messages.filter(({ method }: Message) => method !== undefined)).toEqual([]);
  });
});
