/** Small tables of constants look like noise as well. */
const LEAST_BYTES = 4096;
/** Code, text and most tables have 4 to 7 bits in a byte; what is compressed or encrypted has close to 8. */
const DENSE_BITS = 7.5;

/** How many of the bytes stand in pieces that look so, whatever they are split into. */
export function denseBytes(bytes: Uint8Array): number {
  let found = 0;
  for (let at = 0; at + LEAST_BYTES <= bytes.length; at += LEAST_BYTES)
    if (isDense(bytes.subarray(at, at + LEAST_BYTES))) found += LEAST_BYTES;
  return found;
}

/** Tells whether bytes look compressed or encrypted. */
export function isDense(bytes: Uint8Array): boolean {
  if (bytes.length < LEAST_BYTES) return false;
  const counts = new Uint32Array(256);
  for (const byte of bytes) counts[byte] = (counts[byte] ?? 0) + 1;
  let sum = 0;
  for (const count of counts) if (count > 0) sum += count * Math.log2(count);
  return Math.log2(bytes.length) - sum / bytes.length >= DENSE_BITS;
}
