import { sample } from '../../../tests/volume/volume.ts';

const WAYS: readonly ((byte: number) => number)[] = [
  (byte) => byte ^ 1,
  () => 0x20,
  (byte) => byte ^ 0x80,
  () => 0x0a,
  (byte) => byte ^ 0x20,
];
/** Two in a usual run, of which at least one changes the byte, whatever it is. */
const DRAWN_WAYS = sample(WAYS, 2);

/** Documents that differ from the given one in a single byte, for each byte in several ways. */
export function* flips(text: string): Generator<{ readonly at: number; readonly bytes: Uint8Array }> {
  const original = Buffer.from(text);
  for (const [at, byte] of original.entries()) {
    for (const other of new Set(DRAWN_WAYS.map((change) => change(byte)))) {
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
