import { CodedError } from '../core/coded-error.ts';
import type { ProcessLimits } from '../core/process.ts';
import type { RunnerSettings } from './settings.ts';

/** The asked limits, else the default ones, each lowered to its ceiling. Never gives anything but whole numbers above 0. */
export function meetLimits(
  asked: Partial<ProcessLimits>,
  { defaults, ceilings }: Pick<RunnerSettings, 'defaults' | 'ceilings'>,
): ProcessLimits {
  const unknown = Object.keys(asked).find((term) => !Object.hasOwn(ceilings, term));
  if (unknown !== undefined) throw badLimit(unknown, 'it is unknown');
  const terms = Object.keys(ceilings) as (keyof ProcessLimits)[];
  const met = terms.map((term) => {
    const value = asked[term] ?? defaults[term];
    return [term, Math.min(checked(term, value), checked(term, ceilings[term]))];
  });
  return Object.fromEntries(met) as ProcessLimits;
}

function checked(term: string, value: number): number {
  // Boundary: zero, a negative, a fraction, NaN and what a double cannot hold are refused; to a kernel 0 or -1 is "no limit".
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw badLimit(term, `it is ${value}`);
}

function badLimit(term: string, is: string): CodedError {
  return new CodedError(
    'runner/invalid-limits',
    `Cannot use the limit ${term}: ${is}, expected a whole number of at least 1`,
  );
}
