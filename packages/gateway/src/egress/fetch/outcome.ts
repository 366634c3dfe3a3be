/**
 * Why a request came to nothing: the rules do not allow it, the caller asked in a way that cannot be sent, the target is
 * not there, something is too long or too slow, the answer cannot be read, or nobody wants it any more.
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

export type Failure = { readonly ok: false; readonly code: FailureCode; readonly why: string };

/** What a step of this folder gives. */
export type Result<T> = { readonly ok: true; readonly value: T } | Failure;

/** One request of those that a fetch came to: the first, and one for each redirect. */
export type Hop = {
  /** As it was decided on; a URL with a user name comes to no hop. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The one that a connection was made to; null when none was. */
  readonly address: string | null;
  readonly method: string;
  /** The entry that allowed it or denied it; null when nothing allowed it and nothing denied it either. */
  readonly rule: string | null;
  readonly verdict: 'allow' | 'deny';
  /** Of the answer; null when there was none that could be read. */
  readonly status: number | null;
};

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
  /** With names in lower case. What is said about the way to the gateway, lengths and encodings, is not among them. */
  readonly headers: readonly HeaderPair[];
  /** Whole, and decompressed. */
  readonly body: Uint8Array;
  /** The last one. */
  readonly url: string;
};

export type FetchOutcome = (Arrival & Travelled) | (Failure & Travelled);

export function give<T>(value: T): Result<T> {
  return { ok: true, value };
}

export function fail(code: FailureCode, why: string): Failure {
  return { ok: false, code, why };
}
