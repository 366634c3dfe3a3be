/** Time and chance, made at the edge (daemon.ts) and handed down, so that every room can be tested with others. */
export type Clock = {
  /** Wall-clock time in milliseconds since 1970, as the machine believes it. */
  readonly nowMs: () => number;
  /** A clock that never goes back, in fractional milliseconds; for durations only. */
  readonly monotonicMs: () => number;
};

export type Random = {
  /** Unpredictable bytes from the operating system. */
  readonly bytes: (count: number) => Uint8Array;
};

/** The one spelling of a time in records and receipts: UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
