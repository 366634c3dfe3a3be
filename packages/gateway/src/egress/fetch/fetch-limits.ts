/** What one fetch may take, over all its hops where nothing else is said. */
export type FetchLimits = {
  /** Redirects that are followed. With 0 none is, and the answer of the first request is given whatever it is. */
  readonly redirects: number;
  /** Of the head of one request, with secrets filled in. */
  readonly requestHeaderBytes: number;
  /** Of the heads of one response, those in front of it included. */
  readonly responseHeaderBytes: number;
  readonly requestBytes: number;
  /** Of the body of the last response, decompressed. */
  readonly responseBytes: number;
  /** Decompressed bytes for each byte that was received. */
  readonly expansion: number;
  /** Both ways together, heads included. */
  readonly wireBytes: number;
  readonly wholeMs: number;
  /** For all attempts to connect of one hop together, and once more for its handshake. */
  readonly connectMs: number;
  /** Without a byte in either direction; a head that is not complete yet counts for none. */
  readonly idleMs: number;
};

/** What a fetch gets when nobody asks for something else. */
export const DEFAULT_FETCH_LIMITS: FetchLimits = {
  redirects: 5,
  requestHeaderBytes: 32_768,
  responseHeaderBytes: 65_536,
  requestBytes: 4 * 1024 * 1024,
  responseBytes: 16 * 1024 * 1024,
  // Text comes to 5 or 20, logs to 100; what is made to explode comes to 1,000 and more.
  expansion: 200,
  wireBytes: 16 * 1024 * 1024,
  wholeMs: 60_000,
  connectMs: 10_000,
  idleMs: 30_000,
};

/** What nobody has a say in. */
export const FETCH_BOUNDS = {
  /** Written at once; between two writes it shows that the target still reads. */
  sliceBytes: 65_536,
  /** Decompressed bytes for which the expansion is not looked at, since short texts can be very even. */
  freeBytes: 262_144,
} as const;

/** The largest time of a timer, and more than anything else needs; a longer timer would fire at once. */
const MOST = { ms: 2_147_483_647, other: Number.MAX_SAFE_INTEGER } as const;

/** Completes what is asked for. */
export function fillFetchLimits(asked: Partial<FetchLimits>): FetchLimits {
  const limits: Record<string, number> = { ...DEFAULT_FETCH_LIMITS };
  for (const [term, value] of Object.entries(asked)) {
    const most = term.endsWith('Ms') ? MOST.ms : MOST.other;
    // Boundary: a limit that is not a number above zero is taken as zero, never as "no limit".
    limits[term] = typeof value === 'number' && value > 0 ? Math.min(value, most) : 0;
  }
  return limits as FetchLimits;
}
