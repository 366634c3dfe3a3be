import type { SecureContextOptions } from 'node:tls';
import type { Clock } from '../../core/clock.ts';
import type { AllowList } from '../allowlist.ts';
import type { ResolveOptions } from '../resolve.ts';
import type { BoundSecret } from '../secrets.ts';
import type { FetchLimits } from './fetch-limits.ts';
import type { Hop } from './outcome.ts';
import type { Watch } from './watch.ts';

/** What was decided on one hop. */
export type FetchDecision = Omit<Hop, 'status'> & {
  readonly atMs: number;
  readonly why: string;
  /** The names of the secrets that were filled in; never their values. */
  readonly secrets: readonly string[];
};

export type FetchTerms = {
  /** The list of this moment; it is asked for each hop, and again before each attempt to connect. */
  readonly list: () => AllowList;
  readonly resolve: Omit<ResolveOptions, 'signal'>;
  /** Ends the fetch at once. */
  readonly signal: AbortSignal;
  readonly limits?: Partial<FetchLimits>;
  /** Filled in on each hop, and only where they belong. */
  readonly secrets?: readonly BoundSecret[];
  /** Who is trusted to name targets, instead of those whom Node trusts. */
  readonly trust?: SecureContextOptions['ca'];
  readonly clock: Clock;
  /**
   * Called once for each hop, when its verdict and its address are known and before anything of the request is sent. Its
   * bytes are in the outcome later. What it throws ends the fetch, so that nothing goes out without its record.
   */
  readonly onDecision?: (record: FetchDecision) => void;
};

/** What the hops of one fetch share. */
export type FetchRun = {
  readonly terms: FetchTerms;
  readonly limits: FetchLimits;
  readonly watch: Watch;
  readonly hops: Hop[];
};
