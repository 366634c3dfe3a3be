/** Small tables of constants look like noise as well. */
const LEAST_BYTES = 4096;
/** Code, text and most tables have 4 to 7 bits in a byte; what is compressed or encrypted has close to 8. */
const DENSE_BITS = 7.5;

/**
 * Shannon entropy of the bytes in [start, end), in bits per byte: 0 for one value repeated, 8 for noise. `counts` is
 * a buffer for 256 numbers, all zero before and after, so that many small ranges share one.
 */
export function entropyOf(
  bytes: Uint8Array,
  start: number,
  end: number,
  counts = new Uint32Array(256),
): number {
  const length = end - start;
  if (length <= 0) return 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    counts[byte] = (counts[byte] as number) + 1;
  }
  let sum = 0;
  // A second pass over the range rather than over all 256 values: a range of one byte then costs one step.
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    const count = counts[byte] as number;
    if (count === 0) continue;
    sum += count * Math.log2(count);
    counts[byte] = 0;
  }
  return Math.max(0, Math.log2(length) - sum / length);
}

/** Whether that much entropy in that many bytes is more than code, text or tables have. */
export function isDense(byteCount: number, bitsPerByte: number): boolean {
  return byteCount >= LEAST_BYTES && bitsPerByte >= DENSE_BITS;
}
