/** The tiers that start native commands, one row each. */
import type { ProcessTierName } from '../../core/process.ts';
import { processTier } from '../b-process/index.ts';
import { jailTier } from '../c-bubblewrap/index.ts';
import type { ProcessTier } from './tier.ts';

export const PROCESS_TIERS: Readonly<Record<ProcessTierName, ProcessTier>> = {
  b: processTier,
  c: jailTier,
};
