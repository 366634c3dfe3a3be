import { describe, expect, it } from 'vitest';
import { lookBefore } from '../../../src/tiers/process/left-behind.ts';
import { Baselines } from '../../../src/tiers/workspace/overlaps.ts';

describe('lookBefore() in a workspace that cannot be read', () => {
  const kit = { clock: { nowMs: () => 0, monotonicMs: () => 0 }, baselines: new Baselines(), quarantine: '' };
  const begin = (isKept: boolean) =>
    lookBefore(kit as never, {
      held: { fd: -1, identity: 'gone' } as never,
      terms: { workspace: '/srv/gone' } as never,
      id: 'call',
      isKept,
    });

  it('refuses the run where its protected files have to be restored', async () => {
    await expect(begin(true)).rejects.toMatchObject({
      code: 'tier/unenforceable',
      message: expect.stringContaining('"/srv/gone"'),
    });
  });

  it('is told of by the result elsewhere', async () => {
    expect(await begin(false)).toBeNull();
  });
});
