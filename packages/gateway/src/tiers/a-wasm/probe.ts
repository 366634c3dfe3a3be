/** What tier A holds on this machine, as a row for a person: an engine is started, and says where it is. */
import { CodedError } from '../../core/coded-error.ts';
import { type TierRow, TRIAL_ROW } from '../process/inspect.ts';
import type { EnginePool } from './engine-pool.ts';

/** Its engine runs nothing. */
const NOBODY = '';
const FIX =
  'Look at the rows of tier C and B: engines run in the jail of one or under the limits of the other.';

export async function inspectEngines(pool: EnginePool): Promise<TierRow> {
  try {
    const engine = await pool.take(NOBODY);
    const { tier } = engine.isolation;
    pool.giveBack(engine);
    const where = tier === 'c' ? 'in the jail of tier C' : 'under the limits of tier B';
    const { size, most, idle } = pool.census;
    return {
      tier: 'a',
      name: TRIAL_ROW,
      holds: true,
      detail: `ran an engine process ${where}; ${size} compute at once, ${most} may be there, ${idle} stand idle`,
      fix: null,
    };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { tier: 'a', name: TRIAL_ROW, holds: false, detail: `failed: ${error.message}`, fix: FIX };
  }
}
