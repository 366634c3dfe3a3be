import { join } from 'node:path';
import { verifyReceipt, webPrimitives } from '@palisade/sdk';
import Database from 'libsql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { balances } from '../../src/budget/balances.ts';
import { reservations } from '../budget/reservations.ts';
import {
  type CallWishes,
  callTool,
  GRACE,
  kindsOf,
  makeTool,
  NOON,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
  ringOf,
  type TestGateway,
  testClock,
} from '../fixture/gateway.ts';
import { tamper, verified } from '../journal/sample.ts';

const BUDGET = (calls: number) =>
  `[[budget]]\nname = "hourly"\nper = "principal"\nwindow = "1h"\ncalls = ${calls}\n`;

/** What the principals of a gateway have spent in calls, and what is still held. */
function spent(gateway: TestGateway): number[] {
  const all = balances(gateway.store, { rules: gateway.budgets, nowMs: gateway.clock.nowMs(), limit: 100 });
  return all.map(({ units }) => units.find(({ unit }) => unit === 'calls')?.spent ?? 0);
}

async function receiptHolds(gateway: TestGateway, receipt: string | null): Promise<boolean> {
  return (await verifyReceipt(receipt ?? '', await ringOf(gateway), {}, webPrimitives)).ok;
}

/** A gateway with a tool that counts how often it really ran. */
async function counting(wishes: { toml?: string } = {}) {
  const counter = { runs: 0 };
  const tool = makeTool('test.count', async () => {
    counter.runs += 1;
    return null;
  });
  const clock = testClock();
  const gateway = await openTestGateway({ tools: [tool], policies: PERMIT_ALL, clock, ...wishes });
  return { gateway, counter, clock };
}

describe('invoke()', () => {
  it.each<[string, string, CallWishes, string, readonly string[]]>([
    ['ends well', 'palisade.echo', {}, 'ok', ['intent', 'ended']],
    ['fails', 'palisade.sleep', { input: { ms: 9000 }, timeoutMs: 5 }, 'tier/timed-out', ['intent', 'ended']],
    ['names no tool', 'no.tool', {}, 'registry/unknown-tool', ['refused']],
    [
      'does not fit',
      'palisade.sleep',
      { rawInput: '{"ms":1,"ms":1}' },
      'registry/invalid-input',
      ['refused'],
    ],
    [
      'is forbidden',
      'palisade.echo',
      { principal: { kind: 'service', name: 'x' } },
      'policy/denied',
      ['refused'],
    ],
    [
      'must be asked for',
      'palisade.sleep',
      { input: { ms: 20_000 } },
      'policy/approval-required',
      ['approval-asked', 'refused'],
    ],
    ['has a bad limit', 'palisade.echo', { timeoutMs: 0 }, 'door/invalid-call', ['refused']],
  ])('records a call that %s, with a receipt that verifies', async (_, tool, wishes, code, kinds) => {
    const gateway = await openTestGateway();
    const { outcome, receipt, callId } = await callTool(gateway, tool, wishes);
    expect(outcome.code).toBe(code);
    expect(kindsOf(gateway, callId)).toEqual(kinds);
    expect(await receiptHolds(gateway, receipt)).toBe(true);
    expect(gateway.journal.openCalls(gateway.store)).toEqual([]);
    expect(reservations(gateway.store)).toEqual([]);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('charges what ran and nothing that was refused', async () => {
    const gateway = await openTestGateway({ toml: BUDGET(100) });
    await callTool(gateway, 'no.tool');
    await callTool(gateway, 'palisade.sleep', { input: { ms: 60_000 } });
    await callTool(gateway, 'palisade.sleep', { rawInput: '{' });
    expect(spent(gateway)).toEqual([]);
    await callTool(gateway, 'palisade.echo');
    await callTool(gateway, 'palisade.sleep', { input: { ms: 9000 }, timeoutMs: 5 });
    expect(spent(gateway)).toEqual([2]);
  });

  it('names the budget that is used up, and when it is full again', async () => {
    const gateway = await openTestGateway({ toml: BUDGET(2) });
    await callTool(gateway, 'palisade.echo');
    await callTool(gateway, 'palisade.echo');
    const { outcome, receipt, callId } = await callTool(gateway, 'palisade.echo');
    expect(outcome).toMatchObject({
      status: 'refused',
      code: 'budget/calls-exhausted',
      message:
        'Cannot run call: budget "hourly" of agent:ada has 0 of 2 calls left, resets at 2026-05-01T13:00:00.000Z',
    });
    expect(kindsOf(gateway, callId)).toEqual(['refused']);
    expect(await receiptHolds(gateway, receipt)).toBe(true);
    expect((await callTool(gateway, 'palisade.echo', { principal: GRACE })).outcome.code).toBe('ok');
    expect(spent(gateway).sort()).toEqual([1, 2]);
  });

  it('lets no more calls through at once than a budget has', async () => {
    const { gateway, counter } = await counting({ toml: BUDGET(20) });
    const endings = await Promise.all(Array.from({ length: 50 }, () => callTool(gateway, 'test.count')));
    expect(endings.filter(({ outcome }) => outcome.code === 'ok')).toHaveLength(20);
    expect(counter.runs).toBe(20);
    expect(spent(gateway)).toEqual([20]);
  });

  it('gives a call no more output than its budget has left', async () => {
    const gateway = await openTestGateway({
      tools: [makeTool('test.talk', async () => 'x'.repeat(60_000))],
      policies: PERMIT_ALL,
      toml: `${BUDGET(10)}output_bytes = 100000\n`,
    });
    expect((await callTool(gateway, 'test.talk')).outcome.code).toBe('ok');
    expect((await callTool(gateway, 'test.talk')).outcome.code).toBe('tier/output-exceeded');
    expect((await callTool(gateway, 'test.talk')).outcome.code).toBe('budget/output-exhausted');
  });
});

describe('a journal that cannot be written', () => {
  it('because another process holds it lets nothing run', async () => {
    const { gateway, counter } = await counting({ toml: '[store]\nbusy_timeout_ms = 5\n' });
    const db = new Database(join(gateway.stateDir, 'palisade.db'));
    onTestFinished(() => {
      db.close();
    });
    db.exec('BEGIN IMMEDIATE');
    expect((await callTool(gateway, 'test.count')).outcome.code).toBe('store/locked');
    db.exec('ROLLBACK');
    expect(counter.runs).toBe(0);
    expect((await callTool(gateway, 'test.count')).outcome.code).toBe('ok');
    expect(counter.runs).toBe(1);
  });

  it('because the clock is behind lets nothing run', async () => {
    const { gateway, counter, clock } = await counting();
    clock.set(NOON - 3_600_000);
    expect((await callTool(gateway, 'test.count')).outcome.code).toBe('store/clock-behind');
    expect(counter.runs).toBe(0);
  });

  it.each([
    [
      'its table is gone',
      'ALTER TABLE journal_record RENAME TO elsewhere',
      'ALTER TABLE elsewhere RENAME TO journal_record',
    ],
    [
      'its next number is taken',
      `INSERT INTO journal_record SELECT (SELECT seq + 1 FROM journal_head), at_ms, kind, call, principal, tool, tenant, line, hash FROM journal_record WHERE seq = 1`,
      'DELETE FROM journal_record WHERE seq > (SELECT seq FROM journal_head)',
    ],
  ])('because %s lets nothing run, and goes on when that is mended', async (_, spoil, mend) => {
    const { gateway, counter } = await counting();
    tamper(gateway.stateDir, (db) => db.exec(spoil));
    const { outcome, receipt } = await callTool(gateway, 'test.count');
    expect([outcome.code, receipt, counter.runs]).toEqual(['gateway/fault', null, 0]);
    tamper(gateway.stateDir, (db) => db.exec(mend));
    expect((await callTool(gateway, 'test.count')).outcome.code).toBe('ok');
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });
});

describe('a name that breaks the grammar', () => {
  const BAD = [
    '',
    ' ',
    'a b',
    'a\nb',
    'a"b',
    '../x',
    'a\u0000',
    '\u001b[2J',
    'é',
    `a${'x'.repeat(128)}`,
    '-a',
    'a:b',
  ];
  const fields: readonly [string, (bad: string) => CallWishes][] = [
    ['principal', (name) => ({ principal: { kind: 'agent', name } })],
    ['tenant', (tenant) => ({ tenant })],
    ['run', (run) => ({ run })],
    ['tool', (tool) => ({ tool })],
  ];

  it.each(fields)('of a %s is refused and never reaches a record', async (field, wishesOf) => {
    const gateway = await openTestGateway();
    for (const bad of BAD) {
      const { outcome, receipt } = await callTool(gateway, 'palisade.echo', wishesOf(bad));
      expect([bad, outcome.code]).toEqual([bad, 'door/invalid-call']);
      expect(outcome.status === 'refused' && outcome.message).toBe(
        `Cannot accept call: the name of the ${field} is not valid`,
      );
      expect(await receiptHolds(gateway, receipt)).toBe(true);
    }
    const refused = recordsOf(gateway).filter(({ kind }) => kind === 'refused');
    expect(refused).toHaveLength(BAD.length);
    for (const { principal, tenant, tool } of refused) {
      expect([principal, tenant, tool].join(' ')).toMatch(/^agent:[\w-]+ [\w-]+ [\w.-]+$/);
    }
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });
});
