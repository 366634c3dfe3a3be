import { type Usage, WasmError } from '../error.ts';
import type { Guest } from './guest.ts';
import type { Recipe } from './recipe.ts';
import type { Stack } from './stack.ts';
import type { Views } from './views.ts';

/** The exports that the meter adds to a module. */
export type Controls = {
  /** Sets the fuel and the stack of the next call, and clears why the last one ended. */
  readonly set: (fuel: number, stackBytes: number) => void;
  /** Takes fuel from the running call; never more than is left. */
  readonly charge: (fuel: number) => void;
  readonly left: () => number;
  /** 0: the guest ended by itself; 1: its fuel ran out; 2: its stack did. */
  readonly why: () => number;
  readonly start: (() => unknown) | undefined;
  /** Resets everything except memories to its initial state, where the meter made that possible. */
  readonly renew: (() => void) | undefined;
};

/** The state of one call of a guest; one of these per slot, reset for each call. */
export type CallState = {
  readonly recipe: Recipe;
  controls: Controls;
  /** What the guest exports, including the meter's own: only `findCallee` says what may be called. */
  exports: WebAssembly.Exports;
  memories: readonly WebAssembly.Memory[];
  /** The memory that host functions see. */
  memory: WebAssembly.Memory | undefined;
  /**
   * What host functions see of the running call; absent between calls, and a new one in each. Also absent while a host
   * function has called the guest: then no host function can be reached.
   */
  guest: Guest | undefined;
  /** Views of that memory that stay inside the package, if requested. */
  views: Views | undefined;
  /** Whether a host function got a view of the memory itself, which outlives the call. */
  isExposed: boolean;
  /** The fuel of this call. */
  fuel: number;
  deadline: number;
  /** Crossings left until the clock is read again. */
  crossingsLeft: number;
  context: unknown;
  /** The last error of the guest view: it keeps its code when the host function lets it through. */
  raised: WasmError | undefined;
  /** What ended the call; nothing afterwards makes it succeed. */
  ended: WasmError | undefined;
  /** What a visit threw itself: it may look like a trap, but is not one. */
  fault: { readonly thrown: unknown } | undefined;
  readonly now: () => number;
  readonly stack: Stack;
};

/** What the calls of an engine share. */
export type CallEnvironment = Pick<CallState, 'now' | 'stack'>;

/** Crossings between two reads of the clock, which costs several times what a crossing does. */
export const CROSSINGS_PER_CLOCK_READ = 64;

/** The controls of a slot without a guest. */
export const NO_CONTROLS: Controls = Object.freeze({
  set: () => {},
  charge: () => {},
  left: () => 0,
  why: () => 0,
  start: undefined,
  renew: undefined,
});

/** The exports of a slot without a guest. */
export const NO_EXPORTS: WebAssembly.Exports = Object.freeze({});

export function newCallState(recipe: Recipe, { now, stack }: CallEnvironment): CallState {
  return {
    recipe,
    controls: NO_CONTROLS,
    exports: NO_EXPORTS,
    memories: [],
    memory: undefined,
    views: undefined,
    guest: undefined,
    isExposed: false,
    fuel: 0,
    deadline: Number.POSITIVE_INFINITY,
    crossingsLeft: CROSSINGS_PER_CLOCK_READ,
    context: undefined,
    raised: undefined,
    ended: undefined,
    fault: undefined,
    now,
    stack,
  };
}

/** Takes fuel from the running call before the work is done, or ends the call. */
export function charge(state: CallState, fuel: number): void {
  // Boundary: the work is paid for before it is done, even if the host function continues after this throws.
  if (state.controls.left() < fuel) throw endCall(state, outOfFuel(state));
  state.controls.charge(fuel);
}

/** What the call has used so far; exact at a host call and at the end. */
export function usageOf(state: CallState, isExact = true): Usage {
  const fuelUsed = Math.min(state.fuel, state.fuel - state.controls.left());
  return { fuelUsed, isExact, peakMemoryBytes: memoryBytes(state) };
}

/** The usage of a call that ran out of fuel: all of it. */
export function wholeUsage(state: CallState): Usage {
  return { fuelUsed: state.fuel, isExact: true, peakMemoryBytes: memoryBytes(state) };
}

// Memories never shrink: what they are now is the most they were.
function memoryBytes(state: CallState): number {
  let bytes = 0;
  for (const memory of state.memories) bytes += memory.buffer.byteLength;
  return bytes;
}

/** Ends the call: the first reason stays, and a guest that runs on is stopped at its next check. */
export function endCall(state: CallState, reason: WasmError): WasmError {
  state.ended ??= reason;
  // Boundary: no fuel and no stack, whatever happens to the exception inside the guest.
  state.controls.set(-1, 0);
  return state.ended;
}

export function outOfFuel(state: CallState): WasmError {
  const message = `Cannot finish call: its fuel of ${state.fuel} ran out, expected it to need less or be given more`;
  return new WasmError('fuel', message, { usage: wholeUsage(state) });
}

/** Throws when the deadline has passed; otherwise allows the next crossings without a check. */
export function readClock(state: CallState): void {
  state.crossingsLeft = CROSSINGS_PER_CLOCK_READ;
  if (state.deadline === Number.POSITIVE_INFINITY || state.now() < state.deadline) return;
  throw endCall(state, pastDeadline(state));
}

/** A guest that a host function has called may not call the host, since that host function is still running. */
export function reentered(state: CallState): WasmError {
  const message = 'Cannot cross: the guest was called by a host function, expected it to return first';
  return new WasmError('trap', message, { detail: 're-entered', usage: usageOf(state) });
}

export function pastDeadline(state: CallState): WasmError {
  return new WasmError('deadline', 'Cannot finish call: its deadline passed, expected it to end before', {
    usage: usageOf(state),
  });
}
