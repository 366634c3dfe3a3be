/**
 * Predicts whether a branch is taken from the comparison before it: values are rarely equal and rarely zero. A wrong
 * prediction costs a little time and never changes a count.
 */
import { codeOf } from './opcodes.ts';

const RARELY = new Set(
  ['i32.eqz', 'i64.eqz', 'i32.eq', 'i64.eq', 'f32.eq', 'f64.eq', 'ref.is_null'].map((name) => codeOf(name)),
);
const MOSTLY = new Set(['i32.ne', 'i64.ne', 'f32.ne', 'f64.ne'].map((name) => codeOf(name)));

/** How much colder the code is when the condition holds, and when it does not. */
export type Guess = { readonly holds: number; readonly fails: number };

const UNKNOWN: Guess = { holds: 1, fails: 0 };
const RARE: Guess = { holds: 3, fails: 0 };
const USUAL: Guess = { holds: 0, fails: 3 };

/** Predicts from the instruction before the branch. */
export function guess(previous: number): Guess {
  if (RARELY.has(previous)) return RARE;
  return MOSTLY.has(previous) ? USUAL : UNKNOWN;
}
