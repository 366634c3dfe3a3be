import { type Guest, GuestView } from '../../instance/guest.ts';
import type { HostFunction } from '../../instance/host.ts';
import type { GuestValue } from '../../instance/value.ts';
import type { WorldImport } from '../types.ts';
import { type Codec, misfit, numberAt } from './codec.ts';
import { Passage } from './passage.ts';
import { type Passing, passingOf } from './passing.ts';

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
  const passing = passingOf(row.type);
  const { flatParams, result, isBehind } = passing;
  return {
    module,
    name,
    params: isBehind ? [...flatParams, 'i32'] : flatParams,
    results: result === null || isBehind ? [] : result.flat,
    fuel,
    blocks,
    run(guest: Guest, ...values: GuestValue[]): GuestValue | undefined {
      const passage = new Passage(GuestView.stateOf(guest));
      // Checked before the work: the host does nothing for a guest that could not receive the result.
      const place = isBehind && result !== null ? placeOf(passage, result, values) : 0;
      const given = run(guest, ...takeArguments(passage, passing, values));
      passage.refresh();
      if (!isBehind) return lowerResult(passage, result, given);
      passage.pay(result?.size ?? 0);
      result?.store(passage, place, given);
      return undefined;
    },
  };
}

/** Where the guest wants the result: its last value. */
function placeOf(passage: Passage, { size, align }: Codec, values: readonly GuestValue[]): number {
  return passage.reach(numberAt(values, values.length - 1), size, align);
}

function takeArguments(
  passage: Passage,
  { params, isSpilled }: Passing,
  values: readonly GuestValue[],
): readonly unknown[] {
  if (!isSpilled) return params.lift(passage, values, 0) as readonly unknown[];
  const at = passage.reach(numberAt(values, 0), params.size, params.align);
  passage.pay(params.size);
  return params.load(passage, at) as readonly unknown[];
}

function lowerResult(passage: Passage, result: Codec | null, given: unknown): GuestValue | undefined {
  if (result === null) {
    // A promise, most likely: host functions are synchronous.
    if (given !== undefined) throw misfit('nothing', given);
    return undefined;
  }
  const out: GuestValue[] = [];
  result.lower(passage, given, out);
  return out[0];
}
