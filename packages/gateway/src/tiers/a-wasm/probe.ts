/** What tier A enforces on this machine, as a row for display: an engine is started, and its sandbox is inspected. */
import { CodedError } from '../../core/coded-error.ts';
import { TRIAL_ROW } from '../process/inspect.ts';
import { lackRow, row, type TierRow } from '../process/tier.ts';
import type { EnginePool } from './engine-pool.ts';

/** Its engine runs nothing. */
const NO_OWNER = '';
const FIX =
  'Look at the rows of tier C and B: engines run in the jail of one or under the limits of the other.';

export async function inspectEngines(pool: EnginePool): Promise<TierRow> {
  try {
    const engine = await pool.take(NO_OWNER);
    const { tier } = engine.isolation;
    pool.giveBack(engine);
    const where = tier === 'c' ? 'in the jail of tier C' : 'under the limits of tier B';
    const { size, most, idle } = pool.census;
    const counts = `${size} compute at once, at most ${most} exist, ${idle} are idle`;
    return row('a', TRIAL_ROW, `ran an engine process ${where}; ${counts}`);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return lackRow('a', TRIAL_ROW, { why: `failed: ${error.message}`, fix: FIX });
  }
}
