import { type Usage, WasmError } from '../error.ts';
import type { Limits } from '../limits.ts';
import { type CallState, charge, endCall, outOfFuel, PATIENCE, pastDeadline, usageOf } from './call-state.ts';
import { GuestView } from './guest.ts';
import type { GuestFunction, Recipe } from './recipe.ts';
import { giveBackShare, type Stack, shareOf, takeShare } from './stack.ts';
import { classifyTrap } from './trap.ts';
import { type GuestValue, isValueOf, settleNaN, writeSignature } from './value.ts';

export type CallOptions = {
  /** What the call may use, at most what the instance may. */
  readonly fuel?: number;
  /**
   * Calls inside each other (a host function calls another instance of the engine) are on one stack, so all of them
   * together have at most the ceiling of `stackBytes`. The outermost call that asks for no number has all that its
   * instance may have, one inside it half of what is left. Where less is left than was asked, or nothing, a call is
   * refused as 'stack' before it begins.
   */
  readonly stackBytes?: number;
  /** A time by the engine's clock. */
  readonly deadline?: number;
  /** Handed to host functions as `guest.context`. */
  readonly context?: unknown;
};

export type CallResult = Usage & { readonly results: readonly GuestValue[] };

/** The limits that hold from call to call. */
export type CallLimits = Pick<Limits, 'fuel' | 'stackBytes'>;

/** What a call may take, with nothing left open. */
export type Terms = {
  readonly fuel: number;
  readonly stackBytes: number;
  readonly deadline: number;
  readonly context: unknown;
};

/** Fills what is open from the limits and the stack; asks for more, or for what is no number, are refused. */
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
  // Boundary: a call asks for less, never for more.
  if (Number.isSafeInteger(value) && value >= 0 && value <= most) return;
  throw new RangeError(`Cannot call: ${name} is ${String(value)}, expected a whole number from 0 to ${most}`);
}

/** A function that the guest exports, if V8 need not bend the arguments to call it. */
export function findCallee(recipe: Recipe, name: string, args: readonly GuestValue[]): GuestFunction {
  // Boundary: the guest's own functions only; the meter's exports are in no list.
  const callee = recipe.functions.get(name);
  if (callee === undefined) throw uncallable(name, 'the module exports no such function', 'one of its own');
  const is = misfit(callee, args);
  if (is !== undefined) throw uncallable(name, is, writeSignature(callee));
  return callee;
}

function uncallable(name: string, is: string, expected: string): WasmError {
  const message = `Cannot call ${JSON.stringify(name)}: ${is}, expected ${expected}`;
  return new WasmError('export', message, { detail: name });
}

function misfit({ params, foreign }: GuestFunction, args: readonly GuestValue[]): string | undefined {
  if (foreign !== undefined) return `its type has ${foreign}, which cannot cross to the host`;
  if (args.length !== params.length) return `${args.length} arguments were given`;
  for (const [index, type] of params.entries()) {
    const value: unknown = args[index];
    if (!isValueOf(type, value)) return `argument ${index} is ${String(value)} (${typeof value})`;
  }
  return undefined;
}

/** The arguments as the guest is given them. */
export function settleArguments(
  { isDeterministic }: Recipe,
  args: readonly GuestValue[],
): readonly GuestValue[] {
  return isDeterministic ? args.map(settleNaN) : args;
}

/** Guest code to run, and the fuel that is due before it begins. */
export type Job = { readonly owed: number; readonly work: () => unknown };

type Ended = { readonly returned: unknown; readonly usage: Usage };

/** Runs guest code under terms. What it throws is how the guest failed, with what it used; the guest is not to be run again then. */
export function runMetered(state: CallState, terms: Terms, { owed, work }: Job): Ended {
  begin(state, terms);
  try {
    if (owed > 0) charge(state, owed);
    const returned = work();
    const usage = usageOf(state);
    // Boundary: a call that took too much has not succeeded, whatever it returned.
    if (state.ended !== undefined) throw state.ended;
    if (state.controls.left() < 0) throw endCall(state, outOfFuel(state));
    if (terms.deadline !== Number.POSITIVE_INFINITY && state.now() >= terms.deadline)
      throw endCall(state, pastDeadline(state));
    return { returned, usage };
  } catch (thrown) {
    throw judge(state, thrown);
  } finally {
    giveBackShare(state.stack, terms.stackBytes);
    state.guest = undefined;
    state.context = undefined;
    state.ended = undefined;
    state.raised = undefined;
  }
}

function begin(state: CallState, terms: Terms): void {
  state.fuel = terms.fuel;
  state.deadline = terms.deadline;
  state.patience = PATIENCE;
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

/** Refuses a call that is too late before it begins: nothing has run, so nothing is spoilt. */
export function requireTime(deadline: number, now: () => number): void {
  if (deadline === Number.POSITIVE_INFINITY || now() < deadline) return;
  throw new WasmError(
    'deadline',
    'Cannot call: the deadline has passed before it began, expected a later one',
  );
}

/** How the guest ended, from what it threw. */
function judge(state: CallState, thrown: unknown): unknown {
  // Whatever a host function throws has ended the call at the crossing: the rest is V8's word.
  if (state.ended !== undefined) return state.ended;
  const why = state.controls.why();
  if (why === 1) return outOfFuel(state);
  if (why === 2) {
    const message = 'Cannot finish call: its stack is used up, expected fewer calls inside each other';
    return new WasmError('stack', message, { cause: thrown, usage: usageOf(state) });
  }
  const code = classifyTrap(thrown);
  // The meter brings the count up to date before an `unreachable`; other traps it cannot foresee.
  const usage = usageOf(state, code === 'unreachable');
  // Neither the guest nor a host function can throw anything else: this is a fault of ours and stays what it is.
  if (code === undefined) return thrown;
  const said = thrown instanceof Error ? thrown.message : '';
  return new WasmError(code, `Cannot finish call: V8 stopped the guest with "${said}"`, {
    cause: thrown,
    usage,
    // The machine's own stack, which our count is there to come before.
    ...(code === 'stack' ? { detail: 'machine' } : {}),
  });
}

/** What an export returned, as a list. */
export function listResults(returned: unknown): readonly GuestValue[] {
  if (returned === undefined) return [];
  return Array.isArray(returned) ? returned : [returned as GuestValue];
}
