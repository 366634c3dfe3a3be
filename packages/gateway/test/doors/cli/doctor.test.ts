import { chmodSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Edge } from '../../../src/doors/cli/verb.ts';
import { openGateway, openRecords, systemClock, systemRandom } from '../../../src/open.ts';
import type { TierRow } from '../../../src/tiers/process/inspect.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { type Ran, runInside } from './fake-edge.ts';

const HELD: TierRow = { tier: 'b', name: 'trial', holds: true, detail: 'run ended well', fix: null };
const UNHELD: TierRow = {
  tier: 'c',
  name: 'trial',
  holds: false,
  detail: 'run failed: bubblewrap is not installed',
  fix: 'Install it.',
};
const SHARED: TierRow = { tier: null, name: 'launcher', holds: true, detail: '/launcher', fix: null };

/** Doctor on a real gateway; with `rows`, on a machine that holds what they say. */
function doctor(words: readonly string[], rows?: readonly TierRow[]): Promise<Ran> {
  const stateDir = tempDir();
  chmodSync(stateDir, 0o700);
  const open: Edge['openGateway'] = async (options) => {
    const gateway = await openGateway(options);
    return rows === undefined ? gateway : { ...gateway, inspectTiers: async () => rows };
  };
  return runInside(['doctor', '--state', stateDir, ...words], {
    openRecords,
    openGateway: open,
    clock: systemClock,
    random: systemRandom,
    cwd: stateDir,
  });
}

describe('palisade doctor', () => {
  test('tries all tiers on this machine and says what holds, with a fix for each thing that does not', async () => {
    const { status, out } = await doctor(['--json']);
    const { ok, tiers, findings } = JSON.parse(out);
    expect(ok).toBe(true);
    expect(status).toBe(0);
    for (const tier of ['a', 'b', 'c']) {
      expect(tiers).toContainEqual(expect.objectContaining({ tier, name: 'trial', holds: true }));
    }
    for (const { holds, fix } of tiers) expect(typeof fix === 'string').toBe(!holds);
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'tiers', detail: 'builtin, a, b, c can run here' }),
    );
    expect(findings.map(({ detail }: { detail: string }) => detail)).toContainEqual(
      expect.stringMatching(/^bubblewrap \d+\.\d+\.\d+, \/\S+, sha256 [0-9a-f]{16}…$/),
    );
  });

  test('warns of a tier that cannot be held, with its fix, and is content: other tools run', async () => {
    const { status, out } = await doctor([], [SHARED, HELD, UNHELD]);
    expect(out).toContain('✓ tiers: builtin, a, b can run here\n');
    expect(out).toContain('✓ tiers b, c: launcher /launcher\n');
    expect(out).toContain('! tier c: trial run failed: bubblewrap is not installed\n  → Install it.\n');
    expect(status).toBe(0);
  });
});
