import type { Limits } from '../limits.ts';
import { METER_VERSION } from '../meter/meter.ts';
import type { Form } from '../meter/plan.ts';
import { digestText } from './digest.ts';
import type { Price } from './host.ts';

/** Everything that determines the bytes of a metered module. */
export type KeyParts = {
  /** SHA-256 of the guest's module, in hexadecimal. */
  readonly moduleDigest: string;
  readonly limits: Limits;
  readonly form: Form;
  readonly isDeterministic: boolean;
  readonly prices: readonly Price[];
};

/** Two compilations have one key only if they are of the same module under the same terms by the same meter. */
export function keyOf(parts: KeyParts): Promise<Uint8Array<ArrayBuffer>> {
  const { moduleDigest, limits, form, isDeterministic, prices } = parts;
  const numbers = Object.entries(limits).sort(([a], [b]) => (a < b ? -1 : 1));
  // JSON leaves no two ways to read the same text.
  return digestText(
    JSON.stringify(['palisade-wasm', METER_VERSION, moduleDigest, form, isDeterministic, numbers, prices]),
  );
}
