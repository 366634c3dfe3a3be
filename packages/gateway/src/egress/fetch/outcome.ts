import { type Result, reject } from '../../core/result.ts';
import type { EgressTerms } from '../connect.ts';
import type { DecidedRequest } from '../decide.ts';
import type { FetchLimits } from '../limits.ts';
import type { Watch } from './watch.ts';

/**
 * Why a request failed: the rules do not allow it, the request cannot be sent as it is, the target cannot be reached,
 * something is too long or too slow, the answer cannot be read, or the caller ended it.
 */
export type FailureCode =
  | 'denied'
  | 'invalid'
  | 'unreachable'
  | 'too-large'
  | 'too-slow'
  | 'too-many-redirects'
  | 'malformed'
  | 'cancelled';

type FetchFailure = { readonly code: FailureCode; readonly why: string };

export type Fetched<T> = Result<T, FetchFailure>;

export type FetchFailed = Extract<Fetched<never>, { ok: false }>;

/** What was decided on one request of a fetch: the first, and one for each redirect. */
export type FetchDecision = DecidedRequest & {
  /** As it was decided on; a URL with a user name is never a hop. */
  readonly url: string;
};

/** With the status of the answer; null when no readable one arrived. */
export type Hop = FetchDecision & { readonly status: number | null };

export type HeaderPair = readonly [name: string, value: string];

type Travelled = {
  readonly hops: readonly Hop[];
  /** Of HTTP, heads included, over all hops. */
  readonly bytesIn: number;
  readonly bytesOut: number;
};

export type Arrival = {
  readonly ok: true;
  readonly status: number;
  /** With names in lower case. Hop-by-hop headers, lengths and encodings are left out. */
  readonly headers: readonly HeaderPair[];
  /** Whole, and decompressed. */
  readonly body: Uint8Array;
  readonly url: string;
};

export type FetchOutcome = (Arrival & Travelled) | (FetchFailure & Travelled & { readonly ok: false });

export function fail(code: FailureCode, why: string): FetchFailed {
  return reject({ code, why });
}

export type FetchTerms = EgressTerms & {
  readonly signal: AbortSignal;
  readonly limits?: Partial<FetchLimits>;
  /**
   * Called once for each hop, when its verdict and its address are known and before anything of the request is sent.
   * Its bytes are in the outcome later. An error it throws ends the fetch, so that nothing is sent without its record.
   */
  readonly onDecision?: (record: FetchDecision) => void;
  /** Called with the bytes so far, as they are passed. */
  readonly onProgress?: (counts: ByteCounts) => void;
};

export type ByteCounts = { readonly bytesIn: number; readonly bytesOut: number };

/** What the hops of one fetch share. */
export type FetchRun = {
  readonly terms: FetchTerms;
  readonly limits: FetchLimits;
  readonly watch: Watch;
  readonly hops: Hop[];
};
