import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Scope } from '../../packages/gateway/src/core/caller.ts';
import { answerApproval } from '../../packages/gateway/src/invoke/administer.ts';
import { mintToken, withdrawToken } from '../../packages/gateway/src/invoke/tokens.ts';
import {
  bodyOf,
  callTool,
  GRACE,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
  type TestGateway,
} from '../../packages/gateway/test/fixture/gateway.ts';
import { holdLock } from '../../packages/gateway/test/store/sample.ts';

/* Between a decision and its durable intent lies a wait for the database; nothing may slip through there. */

const QUICK = '[policy]\nreload_ms = 1\n';

describe('a call that is decided but has not begun', () => {
  async function overtaken(change: string) {
    const gateway = await openTestGateway({ policies: PERMIT_ALL, toml: QUICK });
    await callTool(gateway, 'palisade.echo');
    const lock = holdLock(gateway.stateDir);
    const call = callTool(gateway, 'palisade.echo', { run: 'overtaken' });
    await sleep(100);
    writeFileSync(join(gateway.stateDir, 'policies', '99-late.cedar'), change);
    await sleep(50);
    lock.exec('ROLLBACK');
    return { gateway, ended: await call };
  }

  test('does not run when a forbid was put in place meanwhile', async () => {
    const { gateway, ended } = await overtaken(
      '@id("late") forbid(principal, action == Action::"call", resource);\n',
    );
    expect(ended.outcome).toMatchObject({ status: 'refused', code: 'policy/denied' });
    const records = recordsOf(gateway).filter(({ call }) => call === ended.callId);
    expect(records.map(({ kind }) => kind)).toEqual(['refused']);
  });

  test('runs under the new set when that permits it', async () => {
    const { gateway, ended } = await overtaken('@id("late") permit(principal, action, resource);\n');
    expect(ended.outcome.code).toBe('ok');
    const intent = recordsOf(gateway).find(({ call, kind }) => call === ended.callId && kind === 'intent');
    expect(intent?.line).toContain(gateway.policy.setDigest);
  });
});

describe('an administrative act that is decided but not yet written', () => {
  const FORBID = '@id("late") forbid(principal, action, resource);\n';
  const ASKS = `${PERMIT_ALL}@id("asks") forbid(principal, action == Action::"call", resource) unless { context.approved };\n`;

  /** Starts the act while the database is locked, and replaces a policy file before it is free. */
  async function overtaken<T>(gateway: TestGateway, act: () => Promise<T>, change: string): Promise<T> {
    const lock = holdLock(gateway.stateDir);
    const acting = act();
    acting.catch(() => undefined);
    await sleep(100);
    writeFileSync(join(gateway.stateDir, 'policies', '99-late.cedar'), change);
    await sleep(50);
    lock.exec('ROLLBACK');
    return acting;
  }

  const mint = (gateway: TestGateway) => {
    const scopes: readonly Scope[] = ['call'];
    const principal = { kind: 'agent', name: 'ada' } as const;
    const expiresAtMs = gateway.clock.nowMs() + 60_000;
    const minting = { principal, tenant: 'default', scopes, expiresAtMs, label: '' };
    return mintToken(gateway, GRACE, { ...minting, held: new Set(scopes) });
  };
  const kinds = (gateway: TestGateway) => recordsOf(gateway).map(({ kind }) => kind);

  test('makes no token when a forbid was put in place meanwhile, and makes one under a new permit', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL, toml: QUICK });
    await expect(overtaken(gateway, () => mint(gateway), FORBID)).rejects.toMatchObject({
      code: 'policy/denied',
    });
    expect(kinds(gateway)).not.toContain('token-created');
    const other = await openTestGateway({ policies: PERMIT_ALL, toml: QUICK });
    const late = '@id("late") permit(principal, action, resource);\n';
    await overtaken(other, () => mint(other), late);
    expect(kinds(other)).toContain('token-created');
  });

  test('revokes no token when a forbid was put in place meanwhile', async () => {
    const gateway = await openTestGateway({ policies: PERMIT_ALL, toml: QUICK });
    const { about } = await mint(gateway);
    const withdraw = () => withdrawToken(gateway, GRACE, { id: about.id, tenant: null });
    await expect(overtaken(gateway, withdraw, FORBID)).rejects.toMatchObject({ code: 'policy/denied' });
    expect(kinds(gateway)).not.toContain('token-revoked');
  });

  test('approves no call when a forbid was put in place meanwhile', async () => {
    const gateway = await openTestGateway({ policies: ASKS, toml: QUICK });
    await callTool(gateway, 'palisade.echo');
    const id = String(bodyOf(recordsOf(gateway).find(({ kind }) => kind === 'approval-asked')).approval);
    const answer = { id, verdict: 'approved', by: GRACE, note: null, door: 'cli', credential: 'x' } as const;
    const late = '@id("late") forbid(principal, action == Action::"approve", resource);\n';
    const decided = await overtaken(gateway, () => answerApproval(gateway, answer), late);
    expect(decided).toMatchObject({ ok: false, code: 'approval/not-allowed' });
    expect(kinds(gateway)).not.toContain('approval-decided');
  });
});

describe('policies on what is left of a budget', () => {
  test('hold for calls that race', async () => {
    const gateway = await openTestGateway({
      policies: `${PERMIT_ALL}@id("for-people") forbid(principal is Agent, action == Action::"call", resource) when { context.budgetLeft.calls <= 100 };\n`,
      toml: '[[budget]]\nname = "day"\nper = "tenant"\nwindow = "1d"\ncalls = 120\n',
    });
    const ended = await Promise.all(Array.from({ length: 150 }, () => callTool(gateway, 'palisade.echo')));
    const codes = ended.map(({ outcome }) => outcome.code);
    expect(codes.filter((code) => code === 'ok')).toHaveLength(20);
    expect(codes.filter((code) => code === 'policy/denied')).toHaveLength(130);
  });
});
