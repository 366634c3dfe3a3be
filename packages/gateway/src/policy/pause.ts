/** Stops this thread for a moment; right only at a start, where nothing else goes on. */
export function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
