import loadWabt from 'wabt';

const wabt = await loadWabt();

const FEATURES = {
  bulk_memory: true,
  reference_types: true,
  multi_value: true,
  mutable_globals: true,
  simd: true,
  tail_call: true,
};

/** A module from its text. */
export function wat(text: string): Uint8Array<ArrayBuffer> {
  const parsed = wabt.parseWat('guest.wat', text, FEATURES);
  try {
    return new Uint8Array(parsed.toBinary({}).buffer);
  } finally {
    parsed.destroy();
  }
}
