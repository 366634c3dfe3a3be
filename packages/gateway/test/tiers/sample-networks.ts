import type { Networks } from '../../src/tiers/network/networks.ts';
import { SAMPLE_PASS } from '../../src/tiers/network/plan.ts';

/** For runs that have no network. */
export const NO_NETWORKS: Networks = { make: async () => null, samplePass: () => SAMPLE_PASS };
