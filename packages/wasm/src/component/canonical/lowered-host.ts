import { type Guest, GuestView } from '../../instance/guest.ts';
import type { HostFunction } from '../../instance/host.ts';
import type { GuestValue } from '../../instance/value.ts';
import type { WorldImport } from '../types.ts';
import { type Codec, mismatch, numberAt } from './codec.ts';
import { type FlatSignature, flatSignatureOf } from './flat-signature.ts';
import { LiftLowerContext } from './lift-lower-context.ts';

/** A host function in the types of its WIT. */
export type WorldHost = WorldImport & {
  readonly fuel: number;
  readonly blocks?: boolean;
  run(guest: Guest, ...args: unknown[]): unknown;
};

/**
 * The row of a host table for a function of a world: its core values become values and its result becomes core values,
 * as in the canonical ABI. The guest pays for what is copied, besides `fuel`.
 */
export function loweredHost(row: WorldHost): HostFunction {
  const { module, name, fuel, blocks = false, run } = row;
  const signature = flatSignatureOf(row.type);
  const { flatParams, result, isResultInMemory } = signature;
  return {
    module,
    name,
    params: isResultInMemory ? [...flatParams, 'i32'] : flatParams,
    results: result === null || isResultInMemory ? [] : result.flat,
    fuel,
    blocks,
    run(guest: Guest, ...values: GuestValue[]): GuestValue | undefined {
      const context = new LiftLowerContext(GuestView.stateOf(guest));
      // Checked before the work: the host does nothing for a guest that could not receive the result.
      const address = isResultInMemory && result !== null ? resultAddress(context, result, values) : 0;
      const returned = run(guest, ...takeArguments(context, signature, values));
      context.refresh();
      if (!isResultInMemory) return lowerResult(context, result, returned);
      context.pay(result?.size ?? 0);
      result?.store(context, address, returned);
      return undefined;
    },
  };
}

/** Where the guest wants the result: its last value. */
function resultAddress(
  context: LiftLowerContext,
  { size, align }: Codec,
  values: readonly GuestValue[],
): number {
  return context.reach(numberAt(values, values.length - 1), size, align);
}

function takeArguments(
  context: LiftLowerContext,
  { params, isSpilled }: FlatSignature,
  values: readonly GuestValue[],
): readonly unknown[] {
  if (!isSpilled) return params.lift(context, values, 0) as readonly unknown[];
  const at = context.reach(numberAt(values, 0), params.size, params.align);
  context.pay(params.size);
  return params.load(context, at) as readonly unknown[];
}

function lowerResult(
  context: LiftLowerContext,
  result: Codec | null,
  returned: unknown,
): GuestValue | undefined {
  if (result === null) {
    // A promise, most likely: host functions are synchronous.
    if (returned !== undefined) throw mismatch('nothing', returned);
    return undefined;
  }
  const out: GuestValue[] = [];
  result.lower(context, returned, out);
  return out[0];
}
