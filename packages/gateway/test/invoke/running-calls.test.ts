import { describe, expect, it } from 'vitest';
import type { CallWatch } from '../../src/core/call.ts';
import { receiptOf } from '../../src/invoke/finish.ts';
import { listResults, readResult } from '../../src/results/results.ts';
import {
  ADA,
  bodyOf,
  callTool,
  GRACE,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
} from '../fixture/gateway.ts';

const waits = makeTool(
  'test.wait',
  (_, signal) => new Promise((__, fail) => signal.addEventListener('abort', () => fail(signal.reason))),
);
const openWaiting = (toml = '') => openTestGateway({ tools: [waits], policies: PERMIT_ALL, toml });

describe('the calls that are running', () => {
  it('are listed while they run and can be cancelled by their id, which is recorded', async () => {
    const gateway = await openWaiting();
    const ending = callTool(gateway, 'test.wait', { run: 'r1' });
    await expect.poll(() => recordsOf(gateway).at(-1)?.kind).toBe('intent');
    const [running] = gateway.running.list();
    expect(running).toMatchObject({ principal: 'agent:ada', tool: 'test.wait', run: 'r1', door: 'test' });
    expect(gateway.running.cancel('call_none')).toBe(false);
    expect(gateway.running.cancel(running?.callId ?? '')).toBe(true);
    const { outcome, callId } = await ending;
    expect(outcome).toMatchObject({ status: 'failed', code: 'tier/cancelled' });
    expect([gateway.running.size, recordsOf(gateway).at(-1)?.call]).toEqual([0, callId]);
  });

  it('end when their caller gives up, and leave no listener behind', async () => {
    const gateway = await openWaiting();
    const giveUp = new AbortController();
    const ending = callTool(gateway, 'test.wait', { signal: giveUp.signal });
    await expect.poll(() => gateway.running.size).toBe(1);
    giveUp.abort();
    expect((await ending).outcome.code).toBe('tier/cancelled');
    expect((await callTool(gateway, 'test.wait', { signal: giveUp.signal })).outcome.code).toBe(
      'tier/cancelled',
    );
  });

  it('are told to the observer, step by step', async () => {
    const seen: string[] = [];
    const watch: CallWatch = { step: (name) => seen.push(name), ended: ({ code }) => seen.push(code) };
    const gateway = await openWaiting();
    const observed = { ...gateway, observer: () => watch };
    await callTool(observed, 'palisade.echo', { input: { message: 'x' } });
    await callTool(observed, 'test.none');
    expect(seen).toEqual([
      'admit',
      'begin',
      'run',
      'finish',
      'ok',
      'admit',
      'begin',
      'registry/unknown-tool',
    ]);
  });
});

describe('what is kept of a call', () => {
  it('is what its caller was told, and where its receipt is', async () => {
    const gateway = await openWaiting();
    const ok = await callTool(gateway, 'palisade.echo', { input: { message: 'hello' }, run: 'r1' });
    const refused = await callTool(gateway, 'test.none', { principal: GRACE });
    expect(readResult(gateway.store, ok.callId)).toMatchObject({
      ...{ callId: ok.callId, tenant: 'default', principal: 'agent:ada', run: 'r1', tool: 'palisade.echo' },
      ...{ status: 'ok', code: 'ok', output: { message: 'hello' }, isOutputKept: true, usage: ok.usage },
    });
    expect(readResult(gateway.store, refused.callId)).toMatchObject({
      ...{ status: 'refused', code: 'registry/unknown-tool', output: null },
      ...{ message: 'Cannot call "test.none": no such tool' },
    });
    expect(JSON.parse(receiptOf(gateway, ok.callId) ?? '')).toEqual(JSON.parse(ok.receipt ?? ''));
    expect([receiptOf(gateway, 'call_none'), readResult(gateway.store, 'call_none')]).toEqual([null, null]);
  });

  it('is listed by tenant, principal and run, the newest first, page by page', async () => {
    const gateway = await openWaiting();
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) {
      const principal = i % 2 === 0 ? ADA : GRACE;
      const wishes = { input: { message: '' }, principal, run: i < 4 ? 'r1' : 'r2' };
      ids.unshift((await callTool(gateway, 'palisade.echo', wishes)).callId);
    }
    await callTool(gateway, 'palisade.echo', { input: { message: '' }, tenant: 'other' });
    const wanted = { tenant: 'default', principal: null, after: null, limit: 10 } as const;
    const listed = (more: object) =>
      listResults(gateway.store, { ...wanted, ...more }).map(({ callId }) => callId);
    const sorted = [...ids].sort().reverse();
    expect(listed({})).toEqual(sorted);
    expect(listed({ limit: 4, after: sorted[1] })).toEqual(sorted.slice(2));
    expect(listed({ principal: 'agent:ada' }).length).toBe(3);
    expect(listed({ run: 'r1' }).length).toBe(4);
    expect(listed({ run: 'r1', principal: 'user:grace' }).length).toBe(2);
  });

  it('is dropped when its time is over', async () => {
    const gateway = await openWaiting('runs.keep_for = "1m"\n');
    const { callId } = await callTool(gateway, 'palisade.echo', { input: { message: '' } });
    const { clock } = gateway as unknown as { clock: { add: (ms: number) => void } };
    clock.add(120_000);
    for (let i = 0; i < 64; i++) await callTool(gateway, 'palisade.echo', { input: { message: '' } });
    expect(readResult(gateway.store, callId)).toBeNull();
  });

  it('has no secret of the environment', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL, env: { MY_TOKEN: 'hush-hush-secret' } });
    const { callId, outcome } = await callTool(gateway, 'palisade.echo', {
      input: { message: 'hush-hush-secret' },
    });
    expect(outcome).toMatchObject({ output: { message: 'hush-hush-secret' } });
    expect(JSON.stringify(readResult(gateway.store, callId))).not.toContain('hush-hush-secret');
  });

  it('comes with the trace it was a part of, in every record of the call', async () => {
    const gateway = await openWaiting();
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await callTool(gateway, 'palisade.echo', { input: { message: '' }, trace });
    await callTool(gateway, 'test.none', { trace });
    const traced = recordsOf(gateway).filter((row) => bodyOf(row).trace === trace);
    expect(traced.map(({ kind }) => kind)).toEqual(['intent', 'ended', 'refused']);
  });
});
