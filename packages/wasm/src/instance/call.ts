import { type Usage, WasmError } from '../error.ts';
import type { Limits } from '../limits.ts';
import {
  type CallState,
  CROSSINGS_PER_CLOCK_READ,
  charge,
  endCall,
  outOfFuel,
  pastDeadline,
  usageOf,
} from './call-state.ts';
import { failureOf } from './failure.ts';
import { GuestView } from './guest.ts';
import { giveBackShare, type Stack, shareOf, takeShare } from './stack.ts';
import type { GuestValue } from './value.ts';

export type CallOptions = {
  /** What the call may use, at most what the instance may. */
  readonly fuel?: number;
  /**
   * Calls inside each other (a host function calls another instance of the engine) are on one stack, so all of them
   * together have at most the ceiling of `stackBytes`. An outermost call without a number gets all that its instance
   * may have, a nested one half of what is left. If less is left than requested, or nothing, a call is refused as
   * 'stack' before it begins.
   */
  readonly stackBytes?: number;
  /** A time by the engine's clock. */
  readonly deadline?: number;
  /** Handed to host functions as `guest.context`. */
  readonly context?: unknown;
};

export type CallResult = Usage & { readonly results: readonly GuestValue[] };

/** The limits across calls. */
export type CallLimits = Pick<Limits, 'fuel' | 'stackBytes'>;

/** What a call may use, with all defaults filled in. */
export type Terms = {
  readonly fuel: number;
  readonly stackBytes: number;
  readonly deadline: number;
  readonly context: unknown;
};

/** Fills in missing values from the limits and the stack; more than those, or not a number, is refused. */
export function readTerms(options: CallOptions, limits: CallLimits, stack: Stack): Terms {
  const { fuel = limits.fuel, deadline = Number.POSITIVE_INFINITY } = options;
  requireWithin('fuel', fuel, limits.fuel);
  if (options.stackBytes !== undefined) requireWithin('stackBytes', options.stackBytes, limits.stackBytes);
  if (typeof deadline !== 'number' || Number.isNaN(deadline)) {
    throw new RangeError(`Cannot call: the deadline is ${String(deadline)}, expected a time`);
  }
  const stackBytes = shareOf(stack, options.stackBytes, limits.stackBytes);
  return { fuel, stackBytes, deadline, context: options.context };
}

function requireWithin(name: string, value: number, most: number): void {
  // Boundary: a call can request less, never more.
  if (Number.isSafeInteger(value) && value >= 0 && value <= most) return;
  throw new RangeError(`Cannot call: ${name} is ${String(value)}, expected a whole number from 0 to ${most}`);
}

/** Guest code to run, and the fuel that is due before it begins. */
export type Job = { readonly owed: number; readonly work: () => unknown };

type Completed = { readonly returned: unknown; readonly usage: Usage };

/** Runs guest code under terms. It throws how the guest failed, with its usage; the guest must not run again. */
export function runMetered(state: CallState, terms: Terms, { owed, work }: Job): Completed {
  begin(state, terms);
  try {
    if (owed > 0) charge(state, owed);
    const returned = work();
    const usage = usageOf(state);
    // Boundary: a call that used too much has not succeeded, whatever it returned.
    if (state.ended !== undefined) throw state.ended;
    if (state.controls.left() < 0) throw endCall(state, outOfFuel(state));
    if (terms.deadline !== Number.POSITIVE_INFINITY && state.now() >= terms.deadline)
      throw endCall(state, pastDeadline(state));
    return { returned, usage };
  } catch (thrown) {
    throw failureOf(state, thrown);
  } finally {
    giveBackShare(state.stack, terms.stackBytes);
    state.guest = undefined;
    state.context = undefined;
    state.ended = undefined;
    state.raised = undefined;
    state.fault = undefined;
  }
}

function begin(state: CallState, terms: Terms): void {
  state.fuel = terms.fuel;
  state.deadline = terms.deadline;
  state.crossingsLeft = CROSSINGS_PER_CLOCK_READ;
  state.context = terms.context;
  state.ended = undefined;
  state.raised = undefined;
  state.controls.set(terms.fuel, terms.stackBytes);
  takeShare(state.stack, terms.stackBytes);
  state.guest = new GuestView(state);
}

/** Refuses a call inside another one of the same instance: their counts would mix. */
export function requireIdle(state: CallState): void {
  if (state.guest === undefined) return;
  const message = 'Cannot call: another call of this instance is running, expected it to end first';
  throw new WasmError('export', message);
}

/** Refuses a call that is too late before it begins: nothing has run, so the instance stays usable. */
export function requireTime(deadline: number, now: () => number): void {
  if (deadline === Number.POSITIVE_INFINITY || now() < deadline) return;
  throw new WasmError(
    'deadline',
    'Cannot call: the deadline has passed before it began, expected a later one',
  );
}
