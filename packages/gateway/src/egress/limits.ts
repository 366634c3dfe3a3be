/**
 * Every limit of egress, each with its unit in its name. The numbers are above what honest use needs and below what harms
 * the gateway; no caller changes them.
 */
export const EGRESS_LIMITS = {
  /** Of a host before it is parsed; an internationalised name is longer than its ASCII form. */
  rawHostChars: 1_024,
  /** Of a name without its last dot (RFC 1035). */
  nameChars: 253,
  labelChars: 63,
  /** Of a request's path; servers refuse longer ones. */
  pathChars: 8_192,
  /** Of one allow-list. */
  entries: 10_000,
  entryChars: 2_048,
  /** Problems reported for one list; a list that is not a list at all should not fill a log. */
  problems: 50,
  /** Addresses that one lookup may give. Large services give about twenty. */
  lookupAnswers: 64,
  connectAttempts: 8,
  secretValueChars: 8_192,
  /** Placeholders of one request that are replaced: without a limit a short request would become an endless one. */
  secretPlaceholders: 64,
} as const;

/**
 * The shortest prefix that an allowing entry may have: the widest private networks are 10.0.0.0/8 and fc00::/7. What is
 * shorter is `*` in another spelling.
 */
export const LEAST_PREFIX_BITS = { 4: 8, 6: 7 } as const;

export const HTTP1_LIMITS = {
  /** Of one head; browsers send about forty. */
  headLines: 256,
  /** Of the line with the size of a chunk, its extensions included. */
  chunkLineBytes: 256,
  /** Responses such as "100 Continue" in front of the final one. */
  interimResponses: 8,
} as const;

export const TLS_LIMITS = {
  /** What is read of a ClientHello, with the headers of its records. With post-quantum keys it has about 2 KiB. */
  helloBytes: 65_536,
  /** Far more than clients make of a hello, even those that cut it up on purpose. */
  helloRecords: 1_024,
  /** How often the bytes are parsed again: a record takes two times, and few hellos have more than one. */
  helloReads: 256,
  /** Hosts whose certificates are kept. A run that reaches more gets new ones for those it used longest ago. */
  certificateHosts: 1_024,
} as const;

/** What one run gets of its proxy unless less is requested. */
export const DEFAULT_PROXY_LIMITS = {
  /** Connections of the run that are open at once. */
  connections: 1_024,
  connectionsInAll: 20_000,
  /** Requests in all, tunnels included. Each makes at most one record, so this bounds the records as well. */
  requests: 10_000,
  /** Of the heads of one request or response, interim ones included. */
  headBytes: 65_536,
  /** Both ways together, in all, between the proxy and the targets, heads included. */
  bytes: 1024 * 1024 * 1024,
  /** For a client to send its whole head. */
  headMs: 10_000,
  /** For all attempts to connect to a target together. */
  connectMs: 10_000,
  /** Maximum time without a byte in either direction. */
  idleMs: 120_000,
  /** For one connection from start to end. */
  wholeMs: 15 * 60_000,
} as const;

export type ProxyLimits = Readonly<Record<keyof typeof DEFAULT_PROXY_LIMITS, number>>;

/** What no run changes. */
export const PROXY_BOUNDS = {
  /** For a client to read its answer and go, before the connection is reset. */
  lingerMs: 2_000,
  /** Of a token: 96 bits in base64. A shorter one is a mistake of its maker. */
  leastTokenChars: 16,
} as const;

/** What one fetch gets over all its hops, unless something else is said or requested. */
export const DEFAULT_FETCH_LIMITS = {
  /** Redirects that are followed. With 0 the response to the first request is returned, whatever it is. */
  redirects: 5,
  /** Of the head of one request, with secrets filled in. */
  requestHeaderBytes: 32_768,
  /** Of the heads of one response, interim ones included. */
  responseHeaderBytes: 65_536,
  requestBytes: 4 * 1024 * 1024,
  /** Of the body of the last response, decompressed. */
  responseBytes: 16 * 1024 * 1024,
  /** Decompressed bytes for each received one. Text comes to 5 or 20, logs to 100; bombs to 1,000 and more. */
  expansionRatio: 200,
  /** Both ways together, heads included. */
  wireBytes: 16 * 1024 * 1024,
  wholeMs: 60_000,
  /** For all attempts to connect of one hop together, and once more for its handshake. */
  connectMs: 10_000,
  /** Without a byte in either direction; a head that is not complete yet counts for none. */
  idleMs: 30_000,
} as const;

export type FetchLimits = Readonly<Record<keyof typeof DEFAULT_FETCH_LIMITS, number>>;

/** What no fetch changes. */
export const FETCH_BOUNDS = {
  /** Written at once; between two writes it shows that the target still reads. */
  writeBytes: 65_536,
  /** Decompressed bytes below which the expansion is not checked, since short texts can be very repetitive. */
  uncheckedBytes: 262_144,
} as const;

/** The longest possible timer, and more than needed; a longer one would fire at once. */
const MOST_MS = 2_147_483_647;

/** The defaults, overridden by what is requested. */
export function completeLimits<L extends Readonly<Record<string, number>>>(
  defaults: L,
  requested: Partial<L>,
): L {
  const limits: Record<string, number> = { ...defaults };
  for (const [name, value] of Object.entries<number | undefined>(requested)) {
    const most = name.endsWith('Ms') ? MOST_MS : Number.MAX_SAFE_INTEGER;
    // Boundary: a limit that is not a number above zero is taken as zero, never as "no limit".
    limits[name] = typeof value === 'number' && value > 0 ? Math.min(value, most) : 0;
  }
  return limits as L;
}
