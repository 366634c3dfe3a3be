import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  callTool,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
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
