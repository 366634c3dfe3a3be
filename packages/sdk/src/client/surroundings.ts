/** What a client takes from where it runs; each can be handed in. */
export type Surroundings = {
  readonly fetch: typeof fetch;
  /** Unpredictable bytes, for keys of calls and for spreading repeats. */
  readonly random: (count: number) => Uint8Array;
  /** Resolves after so many milliseconds, and at once when the signal fires. */
  readonly wait: (ms: number, signal: AbortSignal | null) => Promise<void>;
};

/** Those of a browser or of Node. */
export const HOST: Surroundings = {
  // Browsers refuse a fetch that was taken off its global object.
  fetch: (...args) => globalThis.fetch(...args),
  random: (count) => crypto.getRandomValues(new Uint8Array(count)),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener('abort', end);
      if (signal?.aborted) end();
    }),
};
