import { setTimeout as sleep } from 'node:timers/promises';
import { verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import type { BuiltinRun, Tool } from '../../src/core/tool.ts';
import { authorize } from '../../src/policy/authorize.ts';
import { builtinTier } from '../../src/tiers/builtin/index.ts';
import {
  type CallWishes,
  callTool,
  kindsOf,
  makeCall,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
  ringOf,
  type TestGateway,
  testClock,
} from '../fixture/gateway.ts';
import { FACTS } from '../policy/sample.ts';

type Run = BuiltinRun;
type Statement = {
  predicate: { execution: unknown; output: unknown; outcome: unknown; usage: Record<string, number> };
};

function open(run: Run, wishes: Partial<Tool> = {}): Promise<TestGateway> {
  return openTestGateway({ tools: [makeTool('test.it', run, wishes)], policies: PERMIT_ALL });
}

/** Calls the tool, and holds the receipt to what a verifier expects of every one. */
async function ending(
  gateway: TestGateway,
  wishes: CallWishes = {},
): Promise<{ outcome: Outcome; statement: Statement }> {
  const { outcome, receipt, callId } = await callTool(gateway, 'test.it', wishes);
  const options = outcome.status === 'refused' || outcome.output === null ? {} : { output: outcome.output };
  const report = await verifyReceipt(receipt ?? '', await ringOf(gateway), options, webPrimitives);
  expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(kindsOf(gateway, callId)).toEqual(['intent', 'ended']);
  expect(gateway.journal.openCalls(gateway.store)).toEqual([]);
  return { outcome, statement: report.statement as unknown as Statement };
}

/** Never listens to its signal and never ends. */
const deaf: Run = () => new Promise(() => undefined);

describe('a tool that runs in the gateway', () => {
  it('gives its output, and a receipt that claims no isolation', async () => {
    const { outcome, statement } = await ending(await open(async (input) => ({ got: input })), {
      input: { a: 1 },
    });
    expect(outcome).toMatchObject({ status: 'ok', output: { got: { a: 1 } } });
    expect(statement.predicate.execution).toEqual({
      tier: 'builtin',
      executor: 'test.it@0.0.0',
      isolation: {
        boundary: 'none',
        process: 'gateway',
        held: 'wallMs outputBytes',
        counted: 'calls wallMs outputBytes',
      },
    });
    expect(statement.predicate.usage).toMatchObject({ calls: 1, outputBytes: 15, cpuMs: 0, fuel: 0 });
  });

  it.each<[string, Run, RegExp]>([
    ['rejects', async () => Promise.reject(new Error('out of paper')), /the tool reported "out of paper"/],
    [
      'throws at once',
      () => {
        throw new RangeError('no tray');
      },
      /the tool reported "no tray"/,
    ],
    [
      'throws a text',
      async () => {
        throw 'jammed';
      },
      /the tool reported "jammed"/,
    ],
    ['throws nothing', async () => Promise.reject(), /the tool reported "undefined"/],
    ['gives no value', async () => undefined as unknown as Json, /the tool reported/],
    ['gives what JSON has not', async () => ({ n: Number.NaN }), /the tool reported/],
    [
      'gives a circle',
      async () => {
        const a: Record<string, unknown> = {};
        a.a = a;
        return a as Json;
      },
      /the tool reported/,
    ],
  ])('and %s fails with tier/tool-error', async (_, run, message) => {
    const { outcome } = await ending(await open(run));
    expect(outcome).toMatchObject({ status: 'failed', code: 'tier/tool-error', output: null });
    expect(outcome.status === 'failed' && outcome.message).toMatch(message);
  });

  it('and gives what does not fit its schema fails with tier/invalid-output and shows it', async () => {
    const gateway = await open(async () => ({ n: 'x' }), {
      outputSchema: { type: 'object', properties: { n: { type: 'number' } } },
    });
    const { outcome } = await ending(gateway);
    expect(outcome).toMatchObject({
      code: 'tier/invalid-output',
      message: 'Cannot accept the output of test.it: /n must be number',
      output: { n: 'x' },
      truncated: false,
    });
  });

  it.each([
    ['ascii', 'x', 100],
    ['two bytes', 'é', 51],
    ['four bytes', '😀', 27],
    ['escaped', '\n', 100],
    ['escaped twice', '\\', 100],
    ['quoted', '"', 100],
    ['escaped by number', '\u0001', 100],
  ])('and gives more than it may is cut off at a whole character (%s)', async (_, char, count) => {
    const limits = { ...makeTool('x', deaf).limits, outputBytes: 100 };
    const { outcome, statement } = await ending(await open(async () => char.repeat(count), { limits }));
    expect(outcome).toMatchObject({ status: 'failed', code: 'tier/output-exceeded', truncated: true });
    const output = outcome.status === 'failed' ? String(outcome.output) : '';
    const whole = JSON.stringify(char.repeat(count));
    expect(whole.startsWith(output)).toBe(true);
    // One more character of the whole would not fit.
    const [next = ''] = whole.slice(output.length);
    expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(100);
    expect(Buffer.byteLength(JSON.stringify(output + next))).toBeGreaterThan(100);
    expect(statement.predicate.usage.outputBytes).toBeLessThanOrEqual(100);
    expect(statement.predicate.output).toMatchObject({ truncated: true });
  });

  it('and may give next to nothing is cut off to nothing', async () => {
    const limits = { ...makeTool('x', deaf).limits, outputBytes: 1 };
    const { outcome, statement } = await ending(await open(async () => 'x', { limits }));
    expect(outcome).toMatchObject({ code: 'tier/output-exceeded', output: null, truncated: true });
    expect(statement.predicate.usage.outputBytes).toBe(0);
  });

  it('and gives as much as it may is fine', async () => {
    const limits = { ...makeTool('x', deaf).limits, outputBytes: 100 };
    expect((await ending(await open(async () => 'x'.repeat(98), { limits }))).outcome.code).toBe('ok');
  });
});

describe('a tool that takes too long', () => {
  it('is told to stop', async () => {
    let wasReported = false;
    const gateway = await open(async (_, signal) => {
      await sleep(60_000, undefined, { signal }).catch((error) => {
        wasReported = true;
        throw error;
      });
      return null;
    });
    const { outcome } = await ending(gateway, { timeoutMs: 20 });
    expect(outcome).toMatchObject({
      code: 'tier/timed-out',
      message: 'Cannot finish call: it passed its limit of 20 ms',
    });
    expect(wasReported).toBe(true);
  });

  it('cannot hold the call although it does not listen', async () => {
    expect((await ending(await open(deaf), { timeoutMs: 20 })).outcome.code).toBe('tier/timed-out');
  });

  it('has what it gives after its end thrown away', async () => {
    let finish: (value: Json) => void = () => undefined;
    const gateway = await open(
      () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    );
    const { outcome } = await ending(gateway, { timeoutMs: 20 });
    finish({ late: true });
    expect(outcome).toMatchObject({ code: 'tier/timed-out', output: null });
  });
});

describe('a call that is cancelled', () => {
  it('before it runs never reaches the tool, and is on record', async () => {
    let runs = 0;
    const gateway = await open(async () => ++runs);
    const { outcome } = await ending(gateway, { signal: AbortSignal.abort() });
    expect([outcome.code, runs]).toEqual(['tier/cancelled', 0]);
  });

  it.each(['listens', 'does not listen'])('while it runs ends although its tool %s', async (how) => {
    const cancel = new AbortController();
    const run: Run = async (_, signal) => {
      setImmediate(() => cancel.abort());
      return how === 'listens' ? sleep(60_000, null, { signal }) : new Promise(() => undefined);
    };
    const { outcome } = await ending(await open(run), { signal: cancel.signal });
    expect(outcome).toMatchObject({
      code: 'tier/cancelled',
      message: 'Cannot finish call: the caller cancelled it',
    });
  });
});

describe('builtinTier()', () => {
  it('runs a grant once, and a look-alike never', async () => {
    let runs = 0;
    const gateway = await open(async () => ++runs);
    const checked = await gateway.registry.check(makeCall(gateway, 'test.it'));
    if ('status' in checked) throw new Error(checked.message);
    const decision = authorize(gateway.policy, checked, FACTS);
    if (decision.verdict !== 'allow') throw new Error(decision.verdict);
    const tier = builtinTier(testClock(), '0.0.0');
    const ties = { signal: new AbortController().signal, stillPermitted: () => true };
    await expect(tier.run({ ...decision.grant }, checked.limits, ties)).rejects.toThrow('forged');
    expect(runs).toBe(0);
    await tier.run(decision.grant, checked.limits, ties);
    await expect(tier.run(decision.grant, checked.limits, ties)).rejects.toThrow('already spent');
    expect(runs).toBe(1);
  });
});
