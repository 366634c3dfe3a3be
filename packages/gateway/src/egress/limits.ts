/** What this room reads at most. Every number is above what honest use needs and below what harms the gateway. */
export const EGRESS_LIMITS = {
  /** Of a host before it is read; an internationalised name is longer than its ASCII form. */
  rawHostChars: 1_024,
  /** Of a name without its last dot (RFC 1035). */
  nameChars: 253,
  labelChars: 63,
  /** Of a request's path; servers refuse longer ones. */
  pathChars: 8_192,
  entries: 10_000,
  entryChars: 2_048,
  /** Problems listed for one list; a list that is not a list at all should not fill a log. */
  problems: 50,
  /** Addresses that one lookup may give. Large services give about twenty. */
  answers: 64,
} as const;

/**
 * The shortest prefix that an allowing entry may have: the widest private networks are 10.0.0.0/8 and fc00::/7. What is
 * shorter is `*` in another spelling.
 */
export const LEAST_PREFIX_BITS = { 4: 8, 6: 7 } as const;
