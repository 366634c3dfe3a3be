import type { GuestValue, NumberType } from '../../instance/value.ts';
import type { LiftLowerContext } from './lift-lower-context.ts';

/** The layout of a type in memory, and its core values as arguments. */
export type Layout = {
  readonly size: number;
  readonly align: number;
  readonly flat: readonly NumberType[];
};

/**
 * One type, in both directions. Offsets passed in are aligned and have the type's whole size inside the memory; what
 * the guest wrote there is not trusted. Fuel for those bytes is paid; what pointers refer to is paid for separately.
 */
export type Codec = Layout & {
  /** Reads a value out of memory. */
  readonly load: (context: LiftLowerContext, at: number) => unknown;
  /** Writes a value into memory. */
  readonly store: (context: LiftLowerContext, at: number, value: unknown) => void;
  /** Makes a value of the core values from `at` on. */
  readonly lift: (context: LiftLowerContext, values: readonly GuestValue[], at: number) => unknown;
  /** Adds the core values of a value. */
  readonly lower: (context: LiftLowerContext, value: unknown, out: GuestValue[]) => void;
};

export function alignTo(offset: number, align: number): number {
  return Math.ceil(offset / align) * align;
}

/** A core value that has to be a number: its signature was checked when the module was linked. */
export function numberAt(values: readonly GuestValue[], at: number): number {
  return Number(values[at]);
}

/** The error for a value of a host function or a caller that is not of the type. The value is not quoted. */
export function mismatch(type: string, value: unknown): TypeError {
  const is = value === null ? 'null' : Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
  return new TypeError(`Cannot lower value: it is ${is} or out of range, expected ${type}`);
}
