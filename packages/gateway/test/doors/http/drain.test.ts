import { describe, expect, test } from 'vitest';
import { kindsOf } from '../../fixture/gateway.ts';
import { bearer, JSON_BODY, openTestDoor } from './open-door.ts';

const CALL = { method: 'POST', headers: { ...JSON_BODY, ...bearer('call') } };
const sleep = (ms: number) => ({ ...CALL, body: JSON.stringify({ tool: 'palisade.sleep', input: { ms } }) });

describe('a door that is told to close', () => {
  test('lets the running call end and be recorded, and takes no other', async () => {
    const { ask, door, gateway } = await openTestDoor();
    const running = ask('/v1/calls', sleep(4000));
    await expect.poll(() => gateway.running.size, { timeout: 20_000 }).toBe(1);
    const closed = door.close(60_000);
    const refused = await ask('/v1/calls', sleep(1));
    expect([refused.status, refused.json.code]).toEqual([503, 'door/draining']);
    expect((await ask('/mcp', { ...CALL, body: '{}' })).status).toBe(503);
    expect((await ask('/readyz')).status).toBe(503);
    expect((await ask('/healthz')).status).toBe(200);
    const { json } = await running;
    expect(json.code).toBe('ok');
    await closed;
    expect(kindsOf(gateway, json.callId)).toEqual(['intent', 'ended']);
    await expect(ask('/healthz')).rejects.toThrow('ECONNREFUSED');
  });

  test('cancels what runs for longer than it may, and that is recorded, too', async () => {
    const { ask, door, gateway } = await openTestDoor();
    const running = ask('/v1/calls', sleep(60_000));
    await expect.poll(() => gateway.running.size, { timeout: 20_000 }).toBe(1);
    await door.close(20);
    const { json } = await running;
    expect(json.code).toBe('tier/cancelled');
    expect(kindsOf(gateway, json.callId)).toEqual(['intent', 'ended']);
  });

  test('ends streams that would never end', async () => {
    const { ask, door, seen } = await openTestDoor();
    const reading = ask('/t/events', { headers: bearer('read') });
    await expect.poll(() => seen.signals.length, { timeout: 20_000 }).toBe(1);
    await door.close(60_000);
    expect((await reading).text).toContain('event: first\nid: 1\n');
  });
});
