/** What one run may take of its proxy. Bytes are what passed between the proxy and the targets, heads included. */
export type ProxyLimits = {
  /** Connections of the run that are open at once. */
  readonly connections: number;
  readonly connectionsInAll: number;
  /** Requests in all, tunnels included. Each makes at most one record, so this bounds the records as well. */
  readonly requests: number;
  /** Of the head of one request or response. */
  readonly headBytes: number;
  /** From the targets to the run, in all. */
  readonly bytesIn: number;
  /** From the run to the targets, in all. */
  readonly bytesOut: number;
  /** Both ways together, in all. */
  readonly bytes: number;
  /** For a client to send its whole head. */
  readonly headMs: number;
  /** For all attempts to connect to a target together. */
  readonly connectMs: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
  /** For one connection from its first moment to its last. */
  readonly wholeMs: number;
};

/** What a run gets when nobody asks for less. */
export const DEFAULT_PROXY_LIMITS: ProxyLimits = {
  connections: 1_024,
  connectionsInAll: 20_000,
  requests: 10_000,
  headBytes: 65_536,
  bytesIn: 1024 * 1024 * 1024,
  bytesOut: 1024 * 1024 * 1024,
  bytes: 1024 * 1024 * 1024,
  headMs: 10_000,
  connectMs: 10_000,
  idleMs: 120_000,
  wholeMs: 15 * 60_000,
};

/** The largest time of a timer, and more than anything else needs; a longer timer would fire at once. */
const MOST = { ms: 2_147_483_647, other: Number.MAX_SAFE_INTEGER } as const;

/** Completes what is asked for. */
export function fillLimits(asked: Partial<ProxyLimits>): ProxyLimits {
  const limits: Record<string, number> = { ...DEFAULT_PROXY_LIMITS };
  for (const [term, value] of Object.entries(asked)) {
    const most = term.endsWith('Ms') ? MOST.ms : MOST.other;
    // Boundary: a limit that is not a number above zero is taken as zero, never as "no limit".
    limits[term] = typeof value === 'number' && value > 0 ? Math.min(value, most) : 0;
  }
  return limits as ProxyLimits;
}

/** What no run has a say in. */
export const PROXY_BOUNDS = {
  /** Lines of one head; browsers send about forty. */
  fields: 256,
  /** Of the line with the size of a chunk, its extensions included. */
  chunkLineBytes: 256,
  /** Responses such as "100 Continue" in front of the real one. */
  interimResponses: 8,
  /** Addresses of one target that are tried. */
  attempts: 8,
  /** For a client to read its answer and go, before the connection is reset. */
  lingerMs: 2_000,
  /** Of a token: 96 bits in base64. A shorter one is a mistake of who made it. */
  leastTokenChars: 16,
} as const;
