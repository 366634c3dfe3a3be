const SPACE = 0x20;
const LINE_FEED = 0x0a;

/** Every document that differs from the given one in a single byte, several ways for each byte. */
export function* flips(text: string): Generator<{ readonly at: number; readonly bytes: Uint8Array }> {
  const original = Buffer.from(text);
  for (const [at, byte] of original.entries()) {
    for (const other of new Set([byte ^ 1, byte ^ 0x20, byte ^ 0x80, SPACE, LINE_FEED])) {
      if (other === byte) continue;
      const bytes = Uint8Array.from(original);
      bytes[at] = other;
      yield { at, bytes };
    }
  }
}

/** The places of the single-byte changes that a verifier lets through; a good verifier has none. */
export async function survivingFlips(
  text: string,
  verifies: (bytes: Uint8Array) => Promise<boolean>,
): Promise<number[]> {
  const surviving: number[] = [];
  for (const { at, bytes } of flips(text)) {
    if (await verifies(bytes)) surviving.push(at);
  }
  return surviving;
}
