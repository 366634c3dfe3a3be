import { describe, expect, it } from 'vitest';
import { NO_USAGE } from '../../src/core/limits.ts';
import { type Tier, TierFault } from '../../src/tiers/tier.ts';
import {
  bodyOf,
  callTool,
  kindsOf,
  makeTool,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
} from '../fixture/gateway.ts';

/** A call in a tier that does this. */
async function broken(run: Tier['run']) {
  const tool = makeTool('test.breaks', async () => null);
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools: [tool] });
  const ended = await callTool({ ...gateway, executors: { builtin: { run } } }, tool.id);
  const [record] = recordsOf(gateway).filter(({ kind }) => kind === 'ended');
  return { ...ended, kinds: kindsOf(gateway, ended.callId), body: bodyOf(record) };
}

describe('a tier that breaks', () => {
  it('after its call had begun is charged what the call had used, and its network is on record', async () => {
    const usage = { ...NO_USAGE, calls: 1, wallMs: 12, fuel: 5_000, egressBytes: 77 };
    const execution = { tier: 'a', executor: 'test', isolation: {} };
    const {
      outcome,
      usage: charged,
      kinds,
      body,
    } = await broken(async () => {
      throw new TierFault(new Error('broken'), { usage, execution, egress: { requests: 1 } });
    });
    expect(outcome).toMatchObject({ status: 'failed', code: 'gateway/fault' });
    expect(charged).toEqual(usage);
    expect(kinds).toEqual(['intent', 'fault', 'ended']);
    expect(body).toMatchObject({ usage, egress: { requests: 1 } });
  });

  it('without a word is charged its one call and the time that it took', async () => {
    const { outcome, usage } = await broken(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error('broken');
    });
    expect(outcome).toMatchObject({ code: 'gateway/fault' });
    expect(usage).toMatchObject({ calls: 1, fuel: 0 });
    expect(usage.wallMs).toBeGreaterThan(0);
  });
});
