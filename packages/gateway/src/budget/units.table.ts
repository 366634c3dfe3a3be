import type { Usage } from '../core/limits.ts';
import type { RefusedCode } from '../core/outcome.ts';

type UnitRow = {
  readonly unit: keyof Usage;
  /** The stem of the columns `*_spent` and `*_reserved`. */
  readonly column: string;
  /** The key of `[[budget]]` in palisade.toml. */
  readonly configKey: string;
  readonly code: RefusedCode;
  /** Stands behind a number in a message. */
  readonly noun: string;
};

/** What a budget counts. A refusal names the first unit in this order that is used up. */
export const UNITS = [
  {
    unit: 'calls',
    column: 'calls',
    configKey: 'calls',
    code: 'budget/calls-exhausted',
    noun: 'calls',
  },
  {
    unit: 'wallMs',
    column: 'wall_ms',
    configKey: 'wall_ms',
    code: 'budget/wall-exhausted',
    noun: 'ms of wall-clock time',
  },
  {
    unit: 'cpuMs',
    column: 'cpu_ms',
    configKey: 'cpu_ms',
    code: 'budget/cpu-exhausted',
    noun: 'ms of CPU time',
  },
  {
    unit: 'fuel',
    column: 'fuel',
    configKey: 'fuel',
    code: 'budget/fuel-exhausted',
    noun: 'units of fuel',
  },
  {
    unit: 'outputBytes',
    column: 'output_bytes',
    configKey: 'output_bytes',
    code: 'budget/output-exhausted',
    noun: 'bytes of output',
  },
  {
    unit: 'egressBytes',
    column: 'egress_bytes',
    configKey: 'egress_bytes',
    code: 'budget/egress-exhausted',
    noun: 'bytes of network traffic',
  },
] as const satisfies readonly UnitRow[];

export type UnitOfBudget = (typeof UNITS)[number];
export type Unit = UnitOfBudget['unit'];
export type UnitColumn = UnitOfBudget['column'];

/** One amount per unit, made from the rows of the table. */
export function perUnit<T>(amountOf: (row: UnitOfBudget, index: number) => T): Record<Unit, T> {
  const amounts: Partial<Record<Unit, T>> = {};
  for (const [index, row] of UNITS.entries()) amounts[row.unit] = amountOf(row, index);
  return amounts as Record<Unit, T>;
}
