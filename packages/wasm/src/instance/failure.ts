import { WasmError } from '../error.ts';
import { type CallState, outOfFuel, usageOf } from './call-state.ts';
import { framesOf } from './frames.ts';
import { classifyTrap } from './trap.ts';

/** The error that a failed call ends with, from what the guest threw. */
export function failureOf(state: CallState, thrown: unknown): unknown {
  // An error of a host function has already ended the call at the crossing: the rest comes from V8.
  if (state.ended !== undefined) return state.ended;
  if (state.fault !== undefined) return state.fault.thrown;
  const frames = () => framesOf(state.recipe.origins, thrown);
  const why = state.controls.why();
  if (why === 1) return outOfFuel(state);
  if (why === 2) {
    const message = 'Cannot finish call: its stack is used up, expected fewer calls inside each other';
    return new WasmError('stack', message, { cause: thrown, usage: usageOf(state), ...frames() });
  }
  const code = classifyTrap(thrown);
  // The meter brings the count up to date before an `unreachable`; other traps it cannot foresee.
  const usage = usageOf(state, code === 'unreachable');
  // Neither the guest nor a host function can throw anything else: this is our bug and is rethrown.
  if (code === undefined) return thrown;
  const reason = thrown instanceof Error ? thrown.message : '';
  return new WasmError(code, `Cannot finish call: V8 stopped the guest with "${reason}"`, {
    cause: thrown,
    usage,
    ...frames(),
    // The machine's own stack, which our count should never let overflow.
    ...(code === 'stack' ? { detail: 'machine' } : {}),
  });
}
