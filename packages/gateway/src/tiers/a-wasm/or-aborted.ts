/** What a promise gives, or null when the signal comes first; what comes too late is handed on. */
export function orAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void,
): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null);
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = promise.finally(() => signal.removeEventListener('abort', onAbort));
    settled.then((value) => {
      if (signal.aborted) late(value);
      resolve(signal.aborted ? null : value);
    }, reject);
    if (signal.aborted) onAbort();
  });
}
