import { describe, expect, test } from 'vitest';
import type { Json } from '../../packages/gateway/src/core/json.ts';
import {
  callTool,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
} from '../../packages/gateway/test/fixture/gateway.ts';
import { openTestDaemon } from '../fixtures/door/daemon.ts';
import { volume } from '../volume/volume.ts';

/* The same call with the same key comes from everywhere at once: to the daemon, and to another process on its store. */

const ROUNDS = volume(12, 3);

async function openBoth() {
  const runs = new Map<string, number>();
  const run = async (input: Json) => {
    const { n } = input as { n: string };
    runs.set(n, (runs.get(n) ?? 0) + 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { n };
  };
  const tools = [makeTool('test.count', run)];
  const daemon = await openTestDaemon({ policies: PERMIT_ALL, tools });
  const other = await openTestGateway({ stateDir: daemon.stateDir, tools, clock: daemon.clock });
  return {
    daemon,
    other,
    runs,
    ada: await daemon.token({ principal: 'agent:ada' }),
    bob: await daemon.token({ principal: 'agent:bob' }),
  };
}

describe('a key', () => {
  test('runs one call, whichever process it comes to, and both tell the same ending afterwards', async () => {
    const { daemon, other, runs, ada } = await openBoth();
    for (let round = 0; round < ROUNDS; round++) {
      const [input, idempotencyKey] = [{ n: `r${round}` }, `key-${round}`];
      const headers = { 'idempotency-key': idempotencyKey };
      await Promise.all([
        ...Array.from({ length: 4 }, () => daemon.call(ada, 'test.count', { input, headers })),
        ...Array.from({ length: 4 }, () => callTool(other, 'test.count', { input, idempotencyKey })),
      ]);
      const [here, there] = [
        await daemon.call(ada, 'test.count', { input, headers }),
        await callTool(other, 'test.count', { input, idempotencyKey }),
      ];
      expect(here.json).toMatchObject({ status: 'ok', replayed: true, callId: there.callId, output: input });
      expect(there).toMatchObject({ replayed: true, outcome: { output: input } });
    }
    expect([...runs.values()]).toEqual(Array.from({ length: ROUNDS }, () => 1));
    expect(recordsOf(daemon.gateway).filter(({ kind }) => kind === 'intent')).toHaveLength(ROUNDS);
  });

  test('is its principal’s own, and is for one call only', async () => {
    const { daemon, runs, ada, bob } = await openBoth();
    const headers = { 'idempotency-key': 'shared' };
    expect((await daemon.call(ada, 'test.count', { input: { n: 'a' }, headers })).status).toBe(200);
    const conflict = await daemon.call(ada, 'test.count', { input: { n: 'b' }, headers });
    expect(conflict.json.code).toBe('door/idempotency-conflict');
    expect(conflict.text).not.toContain('"a"');
    const others = await daemon.call(bob, 'test.count', { input: { n: 'c' }, headers });
    expect(others.json).toMatchObject({ status: 'ok', output: { n: 'c' } });
    const elsewhere = await daemon.token({ principal: 'agent:ada', tenant: 'acme' });
    expect((await daemon.call(elsewhere, 'test.count', { input: { n: 'd' }, headers })).json.output).toEqual({
      n: 'd',
    });
    expect([...runs.keys()]).toEqual(['a', 'c', 'd']);
    for (const odd of ['', ' ', 'a b', 'x'.repeat(256), 'é', 'a\tb'])
      expect(
        (await daemon.call(ada, 'test.count', { input: { n: 'z' }, headers: { 'idempotency-key': odd } }))
          .status,
      ).toBe(400);
    expect(runs.has('z')).toBe(false);
  });
});
