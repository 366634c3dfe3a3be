import { WasmError } from '../error.ts';
import { type CallState, charge, endCall, outOfFuel } from './call-state.ts';
import { findPlainCallee, settleArguments } from './callee.ts';
import { failureOf } from './failure.ts';
import type { Guest } from './guest.ts';
import type { GuestValue } from './value.ts';

/** A call of the guest from inside the running call. */
export type InnerCall = {
  readonly name: string;
  readonly values: readonly GuestValue[];
  /** What host functions see during the call; without it they cannot be reached. */
  readonly seen?: Guest | undefined;
};

/**
 * Calls an export of the guest on the fuel, the stack and the deadline of the running call. Any failure ends the whole
 * call, even if the caller continues.
 */
export function callExport(state: CallState, { name, values, seen }: InnerCall): GuestValue | undefined {
  // Boundary: no code of an ended call runs any more, not even what the meter would not check.
  if (state.ended !== undefined) throw state.ended;
  const { owed } = findPlainCallee(state.recipe, name, values);
  if (owed > 0) charge(state, owed);
  const callee = state.exports[name] as (...each: GuestValue[]) => GuestValue | undefined;
  const returned = callWith(state, seen, () => callee(...settleArguments(state.recipe, values)));
  // Boundary: a host function that swallowed the end of the call, or an overdraft, does not make the result valid.
  if (state.ended !== undefined) throw state.ended;
  if (state.controls.left() < 0) throw endCall(state, outOfFuel(state));
  return returned;
}

function callWith<T>(state: CallState, seen: Guest | undefined, work: () => T): T {
  const { guest } = state;
  state.guest = seen;
  try {
    return work();
  } catch (thrown) {
    const ending = failureOf(state, thrown);
    throw ending instanceof WasmError ? endCall(state, ending) : ending;
  } finally {
    state.guest = guest;
  }
}
