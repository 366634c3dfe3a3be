import { join } from 'node:path';
import { verifyReceipt, webPrimitives } from '@palisade/sdk';
import Database from 'libsql';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Gateway } from '../../src/invoke/gateway.ts';
import {
  bodyOf,
  callTool,
  kindsOf,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
  ringOf,
  type TestGateway,
} from '../fixture/gateway.ts';
import { verified } from '../journal/sample.ts';

function breaks(): never {
  throw new RangeError('hunter2 in /home/ada/secret.txt');
}

/** Modules that throw unexpectedly, before the call runs and while it does. */
const BROKEN: readonly [string, (gateway: TestGateway) => Gateway, readonly string[]][] = [
  [
    'the registry',
    (gateway) => ({
      ...gateway,
      registry: { undiscovered: () => null, check: async () => breaks() } as never,
    }),
    ['fault', 'ended'],
  ],
  [
    'the policy engine',
    (gateway) => ({ ...gateway, policy: { refresh: breaks } as never }),
    ['fault', 'ended'],
  ],
  [
    'a budget rule',
    (gateway) => ({
      ...gateway,
      budgets: [
        {
          get per() {
            return breaks();
          },
        },
      ] as never,
    }),
    ['fault', 'ended'],
  ],
  [
    'a tier',
    (gateway) => ({ ...gateway, executors: { builtin: { run: async () => breaks() } } }),
    ['intent', 'fault', 'ended'],
  ],
];

describe('a module that breaks', () => {
  it.each(BROKEN)('(%s) ends the call with an incident that the journal knows', async (_, breakIt, kinds) => {
    const gateway = await openTestGateway();
    const { outcome, receipt, callId } = await callTool(breakIt(gateway), 'palisade.echo');
    expect(outcome).toMatchObject({ status: 'failed', code: 'gateway/fault', output: null });
    expect(kindsOf(gateway, callId)).toEqual(kinds);
    const fault = recordsOf(gateway).find(({ kind }) => kind === 'fault');
    const { incident, error } = bodyOf(fault) as { incident: string; error: string };
    expect(outcome.status === 'failed' && outcome.message).toContain(incident);
    expect(incident).toMatch(/^inc_[0-9a-z]{25}$/);
    expect(error).toContain('RangeError');
    expect(fault?.line).not.toMatch(/hunter2|home\/ada|palisade\/|packages\/gateway/);
    expect(await verifyReceipt(receipt ?? '', await ringOf(gateway), {}, webPrimitives)).toMatchObject({
      ok: true,
    });
  });

  it.each(BROKEN)(
    '(%s) leaves a journal that verifies, no call open, and the next call is fine',
    async (_, breakIt) => {
      const gateway = await openTestGateway();
      await callTool(breakIt(gateway), 'palisade.echo');
      expect(gateway.journal.openCalls(gateway.store)).toEqual([]);
      expect((await callTool(gateway, 'palisade.echo')).outcome.code).toBe('ok');
      expect(await verified(gateway)).toMatchObject({ ok: true, firstBad: null });
    },
  );

  it('does not take the calls beside it down', async () => {
    const gateway = await openTestGateway();
    const broken = {
      ...gateway,
      budgets: [
        {
          get per() {
            return breaks();
          },
        },
      ] as never,
    };
    const endings = await Promise.all(
      Array.from({ length: 20 }, (_, i) => callTool(i % 4 === 0 ? broken : gateway, 'palisade.echo')),
    );
    const codes = endings.map(({ outcome }) => outcome.code);
    expect(codes.filter((code) => code === 'ok')).toHaveLength(15);
    expect(codes.filter((code) => code === 'gateway/fault')).toHaveLength(5);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('is a refusal where the tier of a tool is not there', async () => {
    const opened = await openTestGateway({
      tools: [makeTool('test.wasm', async () => null, { tier: 'a' })],
      policies: PERMIT_ALL,
    });
    const { a: _, ...executors } = opened.executors;
    const gateway = { ...opened, executors };
    const { outcome, callId } = await callTool(gateway, 'test.wasm');
    expect(outcome).toMatchObject({ status: 'refused', code: 'tier/unenforceable' });
    expect(kindsOf(gateway, callId)).toEqual(['refused']);
  });
});

describe('an ending that cannot be written', () => {
  it('is called unknown, keeps the output, and is closed as unknown by the next gateway', async () => {
    const stateDir = (await openTestGateway({ policies: PERMIT_ALL })).stateDir;
    const lock = new Database(join(stateDir, 'palisade.db'));
    onTestFinished(() => {
      lock.close();
    });
    const grab = makeTool('test.grab', async () => {
      lock.exec('BEGIN IMMEDIATE');
      return 'done';
    });
    const gateway = await openTestGateway({
      stateDir,
      tools: [grab],
      toml: '[store]\nbusy_timeout_ms = 5\n',
    });
    const { outcome, receipt, callId } = await callTool(gateway, 'test.grab');
    expect(outcome).toMatchObject({ status: 'failed', code: 'tier/unknown-ending', output: 'done' });
    expect(outcome.status === 'failed' && outcome.message).toMatch(
      /^Cannot record the ending of the call, which ran: /,
    );
    expect(receipt).toBeNull();
    lock.exec('ROLLBACK');
    expect(kindsOf(gateway, callId)).toEqual(['intent']);
    await gateway.close();
    const next = await openTestGateway({ stateDir });
    expect(kindsOf(next, callId)).toEqual(['intent', 'ended']);
    expect(bodyOf(recordsOf(next).at(-1)).code).toBe('tier/unknown-ending');
  });
});
