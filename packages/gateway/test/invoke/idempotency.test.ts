import { join } from 'node:path';
import { verifyReceipt, webPrimitives } from '@palisade/sdk';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { list } from '../../src/approval/requests.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { answerApproval } from '../../src/invoke/administer.ts';
import { openGateway } from '../../src/open.ts';
import {
  ADA,
  type CallWishes,
  callTool,
  GRACE,
  kindsOf,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
  ringOf,
  testClock,
} from '../fixture/gateway.ts';

/** A gateway whose tool counts how often it ran, and ends when the test says so. */
async function counting(toml = '', policies = PERMIT_ALL) {
  const counter = { runs: 0 };
  const gate: { open: () => void; wait: Promise<void> } = { open: () => undefined, wait: Promise.resolve() };
  const tool = makeTool('test.count', async (input) => {
    counter.runs += 1;
    await gate.wait;
    return { runs: counter.runs, input };
  });
  const clock = testClock();
  const gateway = await openTestGateway({ tools: [tool], policies, clock, toml });
  const call = (wishes: CallWishes = {}) =>
    callTool(gateway, 'test.count', { idempotencyKey: 'k-1', input: { a: 1 }, ...wishes });
  const hold = () => {
    gate.wait = new Promise((resolve) => {
      gate.open = resolve;
    });
  };
  return { gateway, counter, clock, call, hold, gate };
}

describe('a call that is repeated with its idempotency key', () => {
  it('runs once and is told again, with the same id and the same receipt', async () => {
    const { gateway, counter, call } = await counting();
    const first = await call();
    const records = recordsOf(gateway).length;
    const second = await call();
    expect(second).toEqual({ ...first, replayed: true });
    expect([counter.runs, recordsOf(gateway).length]).toEqual([1, records]);
    const report = await verifyReceipt(second.receipt ?? '', await ringOf(gateway), {}, webPrimitives);
    expect(report.ok).toBe(true);
  });

  it('runs again without a key, with another key, and for another principal or tenant', async () => {
    const { gateway, counter, call } = await counting();
    await call();
    await callTool(gateway, 'test.count', { input: { a: 1 } });
    await call({ idempotencyKey: 'k-2' });
    await call({ principal: GRACE });
    await call({ tenant: 'other' });
    expect(counter.runs).toBe(5);
  });

  it.each<[string, CallWishes]>([
    ['input', { input: { a: 2 } }],
    ['tool', { tool: 'palisade.echo' }],
    ['run', { run: 'nightly' }],
    ['time limit', { timeoutMs: 5 }],
  ])('is refused with another %s, and the refusal is recorded', async (_, wishes) => {
    const { gateway, counter, call } = await counting();
    await call();
    const other = await call(wishes);
    expect(other.outcome).toMatchObject({ status: 'refused', code: 'door/idempotency-conflict' });
    expect([counter.runs, kindsOf(gateway, other.callId)]).toEqual([1, ['refused']]);
  });

  it('is not told the result of another tenant that a changed row leads to', async () => {
    const { gateway, counter, call } = await counting();
    const first = await call();
    const db = new Database(join(gateway.stateDir, 'palisade.db'));
    db.exec("UPDATE idempotency SET tenant = 'acme'");
    const { outcome, replayed } = await call({ tenant: 'acme' });
    expect(outcome).toMatchObject({ status: 'refused', code: 'door/idempotency-conflict' });
    expect([replayed, counter.runs]).toEqual([undefined, 1]);
    // The row as it was leads its own tenant to the result.
    db.exec("UPDATE idempotency SET tenant = 'default'");
    db.close();
    expect(await call()).toEqual({ ...first, replayed: true });
  });

  it('is refused while the first is running, and told its ending afterwards', async () => {
    const { counter, call, hold, gate } = await counting();
    hold();
    const first = call();
    await expect.poll(() => counter.runs).toBe(1);
    expect((await call()).outcome.code).toBe('door/call-open');
    gate.open();
    const ended = await first;
    expect(await call()).toMatchObject({ callId: ended.callId, replayed: true });
    expect(counter.runs).toBe(1);
  });

  it('runs once when many come at the same moment', async () => {
    const { counter, call } = await counting();
    const all = await Promise.all(Array.from({ length: 20 }, () => call()));
    const codes = all.map(({ outcome }) => outcome.code);
    expect(counter.runs).toBe(1);
    expect(new Set(codes)).toEqual(new Set(['ok', 'door/call-open']));
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
  });

  it('does not use up the key where it is refused: an approval later, the same request runs', async () => {
    const policies = `permit(principal, action == Action::"call", resource) when { context.approved };
      permit(principal is User, action == Action::"approve", resource);`;
    const { gateway, counter, clock, call } = await counting('', policies);
    expect((await call()).outcome.code).toBe('policy/approval-required');
    const [asked] = list(gateway.store, { state: 'pending', limit: 1, nowMs: clock.nowMs() });
    await answerApproval(gateway, {
      id: asked?.id ?? '',
      verdict: 'approved',
      by: GRACE,
      note: null,
      door: 'cli',
      credential: 'process',
    });
    const ran = await call();
    expect([ran.outcome.code, counter.runs]).toEqual(['ok', 1]);
    // The approval is used up; the repetition is told what came of it all the same.
    expect(await call()).toMatchObject({ callId: ran.callId, replayed: true });
  });

  it('is a new call once the key has had its time', async () => {
    const { counter, clock, call } = await counting('runs.keep_for = "1m"\n');
    const first = await call();
    clock.add(61_000);
    const later = await call();
    expect([later.replayed, later.callId === first.callId, counter.runs]).toEqual([undefined, false, 2]);
    expect(await call()).toMatchObject({ callId: later.callId, replayed: true });
  });

  it('is told that the output is not kept where it was too large', async () => {
    const { call } = await counting('runs.keep_output_bytes = 4\n');
    expect((await call()).outcome).toMatchObject({ status: 'ok', output: { runs: 1 } });
    expect((await call()).outcome).toMatchObject({ status: 'ok', output: null });
  });

  it.each(['', 'a b', 'é', 'x'.repeat(256), 'line\nbreak'])(
    'is refused with the key %j',
    async (idempotencyKey) => {
      const { counter, call } = await counting();
      expect((await call({ idempotencyKey })).outcome.code).toBe('door/invalid-call');
      expect(counter.runs).toBe(0);
    },
  );

  it('is told an unknown ending where the gateway was killed meanwhile, and does not run again', async () => {
    const { gateway, counter, call, hold, gate } = await counting();
    hold();
    const lost = call();
    await expect.poll(() => counter.runs).toBe(1);
    // What another process finds after this one is gone: the intent is there, its owner is not.
    gateway.presence.close();
    const env = readEnvironment({});
    const next = await openGateway({
      stateDir: gateway.stateDir,
      env,
      version: '0.0.0',
      clock: gateway.clock,
    });
    const reported = await callTool(next, 'test.count', {
      idempotencyKey: 'k-1',
      input: { a: 1 },
      principal: ADA,
    });
    expect(reported).toMatchObject({ replayed: true, outcome: { code: 'tier/unknown-ending' } });
    gate.open();
    await lost;
    await next.close();
    expect(counter.runs).toBe(1);
  });
});
