import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalize, verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, it } from 'vitest';
import { balances } from '../../src/budget/balances.ts';
import { recover } from '../../src/invoke/records.ts';
import { systemClock } from '../../src/open.ts';
import { reservations } from '../budget/reservations.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import { bodyOf, kindsOf, openTestGateway, PERMIT_ALL, recordsOf, ringOf } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { tamper, verified } from '../journal/sample.ts';

const CALL = 'call_held';
const TOML = '[[budget]]\nname = "daily"\nper = "principal"\nwindow = "1d"\ncalls = 10\nwall_ms = 2000000\n';

/** A process in the middle of a call. */
async function inCall(): Promise<{ stateDir: string; child: Child }> {
  const stateDir = tempDir();
  mkdirSync(join(stateDir, 'policies'));
  writeFileSync(join(stateDir, 'policies', 'test.cedar'), PERMIT_ALL);
  writeFileSync(join(stateDir, 'palisade.toml'), TOML);
  const child = new Child(await bundleProgram('hold-call.ts'), [stateDir, CALL]);
  expect(await child.line()).toBe('running');
  return { stateDir, child };
}

describe('recover()', () => {
  it('leaves the call of a process that is alive alone', async () => {
    const { stateDir } = await inCall();
    const gateway = await openTestGateway({ stateDir, clock: systemClock });
    expect(recover(gateway)).toBe(0);
    expect(kindsOf(gateway, CALL)).toEqual(['intent']);
    expect(gateway.journal.openCalls(gateway.store)).toMatchObject([{ call: CALL }]);
    expect(reservations(gateway.store)).toMatchObject([{ callId: CALL }]);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('closes the call of a process that was killed as unknown, once, signed, and charged as reserved', async () => {
    const { stateDir, child } = await inCall();
    await child.kill();
    const gateways = await Promise.all([1, 2].map(() => openTestGateway({ stateDir, clock: systemClock })));
    const [gateway] = gateways;
    if (gateway === undefined) throw new Error('no gateway');
    expect(gateways.map((each) => recover(each))).toEqual([0, 0]);
    expect(kindsOf(gateway, CALL)).toEqual(['intent', 'ended']);
    expect(gateway.journal.openCalls(gateway.store)).toEqual([]);

    const ended = recordsOf(gateway).find(({ kind, call }) => kind === 'ended' && call === CALL);
    const { status, code, envelope } = bodyOf(ended);
    expect([status, code]).toEqual(['failed', 'tier/unknown-ending']);
    const report = await verifyReceipt(
      canonicalize(envelope),
      await ringOf(gateway),
      { input: { ms: 800_000 } },
      webPrimitives,
    );
    expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(report.statement?.predicate).toMatchObject({
      principal: 'agent:ada',
      execution: { tier: 'unknown', isolation: {} },
      usage: { calls: 1, wallMs: 850_000 },
    });
    expect(reservations(gateway.store)).toEqual([]);
    const [account] = balances(gateway.store, {
      rules: gateway.budgets,
      nowMs: systemClock.nowMs(),
      limit: 1,
    });
    expect(account?.units.filter(({ limit }) => limit !== null)).toMatchObject([
      { unit: 'calls', spent: 1, reserved: 0 },
      { unit: 'wallMs', spent: 850_000, reserved: 0 },
    ]);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('lets nothing run where the intent of an open call is missing', async () => {
    const { stateDir, child } = await inCall();
    await child.kill();
    tamper(stateDir, (db) => db.exec(`DELETE FROM journal_record WHERE call = '${CALL}'`));
    await expect(openTestGateway({ stateDir, clock: systemClock })).rejects.toMatchObject({
      code: 'store/corrupt',
      message: expect.stringContaining(`Cannot close call ${CALL}: its intent`),
    });
  });
});
