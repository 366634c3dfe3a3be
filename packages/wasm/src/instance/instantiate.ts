import { type Usage, WasmError } from '../error.ts';
import { type Limits, narrowLimits } from '../limits.ts';
import {
  type CallOptions,
  type CallResult,
  readTerms,
  requireIdle,
  requireTime,
  runMetered,
} from './call.ts';
import type { Surroundings } from './call-state.ts';
import { findCallee, listResults, settleArguments } from './callee.ts';
import { type HostTable, NO_HOSTS } from './host.ts';
import type { House, Reservation } from './house.ts';
import { allowanceOf, narrowSlots } from './memory.ts';
import type { MemorySlot, Recipe } from './recipe.ts';
import { Seat } from './seat.ts';
import type { GuestValue } from './value.ts';

/** The limits an instance can have lower than its module; the others were built in when it was compiled. */
export type InstanceLimits = Pick<Limits, 'memoryBytes' | 'fuel' | 'stackBytes'>;

/** The call's options are those of the start function. */
export type InstanceOptions = CallOptions & {
  readonly hosts?: HostTable;
  readonly limits?: Partial<InstanceLimits>;
};

/** The context of instances: their counter, the clock, and the stack they run on. */
export type Premises = Surroundings & { readonly house: House };

/** What all instances made under the same options share. */
export type Lease = {
  readonly limits: InstanceLimits;
  readonly slots: readonly MemorySlot[];
  readonly allowanceBytes: number;
};

/** Lowers a module's limits for its instances. */
export function readLease(recipe: Recipe, wanted: Partial<InstanceLimits> = {}): Lease {
  for (const key of Object.keys(wanted)) {
    if (key === 'memoryBytes' || key === 'fuel' || key === 'stackBytes') continue;
    throw new RangeError(`Cannot make instance: ${key} cannot be lowered any more, expected it at compile()`);
  }
  const limits = narrowLimits(recipe.limits, wanted);
  const slots = narrowSlots(recipe.memories, limits.memoryBytes, recipe.limits.memoryBytes);
  return { limits, slots, allowanceBytes: allowanceOf(slots, limits.memoryBytes) };
}

/** Admits, links and starts one instance; a failure leaves nothing reserved. */
export function instantiate(
  recipe: Recipe,
  options: InstanceOptions,
  { house, ...surroundings }: Premises,
): Instance {
  const lease = readLease(recipe, options.limits);
  const terms = readTerms(options, lease.limits, surroundings.stack);
  requireTime(terms.deadline, surroundings.now);
  const reservation = house.reserve(1, lease.allowanceBytes);
  try {
    const seat = new Seat({ recipe, hosts: options.hosts ?? NO_HOSTS, slots: lease.slots, surroundings });
    seat.seat();
    const { start } = seat.state.controls;
    const { usage } = runMetered(seat.state, terms, { owed: recipe.startOwed, work: () => start?.() });
    return new Instance({ seat, reservation, limits: lease.limits, startUsage: usage });
  } catch (error) {
    reservation.release();
    throw error;
  }
}

type InstanceParts = {
  readonly seat: Seat;
  readonly reservation: Reservation;
  readonly limits: InstanceLimits;
  readonly startUsage: Usage;
};

/** One guest that keeps its state from call to call, until it fails or is released; then its place is free again. */
export class Instance {
  /** What the start function used. */
  readonly startUsage: Usage;
  readonly limits: InstanceLimits;
  readonly #seat: Seat;
  readonly #reservation: Reservation;
  #hasFailed = false;
  #isReleased = false;

  /** @internal */
  constructor({ seat, reservation, limits, startUsage }: InstanceParts) {
    this.#seat = seat;
    this.#reservation = reservation;
    this.limits = limits;
    this.startUsage = startUsage;
  }

  /** Whether every further call is refused. */
  get isRetired(): boolean {
    return this.#hasFailed || this.#isReleased;
  }

  /** Calls a function that the guest exports. Any failure of the guest retires the instance and frees its place. */
  call(name: string, args: readonly GuestValue[] = [], options: CallOptions = {}): CallResult {
    const { state, recipe } = this.#seat;
    // Boundary: a guest that failed may be in any state, so nothing of it ever runs again.
    if (this.isRetired) throw this.#retired(name);
    requireIdle(state);
    const { owed } = findCallee(recipe, name, args);
    const terms = readTerms(options, this.limits, state.stack);
    requireTime(terms.deadline, state.now);
    const callee = this.#seat.seat().exports[name] as (...each: GuestValue[]) => unknown;
    const values = settleArguments(recipe, args);
    try {
      const { returned, usage } = runMetered(state, terms, { owed, work: () => callee(...values) });
      return { results: listResults(returned), ...usage };
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      // Failed, or released while it ran: it can no longer be called, and nothing of it runs.
      if (this.isRetired) this.#leave();
    }
  }

  /** Releases what was reserved, at once or when the running call has ended. Idempotent, also after a failure. */
  release(): void {
    this.#isReleased = true;
    if (this.#seat.state.guest === undefined) this.#leave();
  }

  #retired(name: string): WasmError {
    const is = this.#isReleased ? 'was released' : 'has failed before';
    return new WasmError(
      'retired',
      `Cannot call ${JSON.stringify(name)}: the instance ${is}, expected a new one`,
    );
  }

  #leave(): void {
    this.#seat.clear(false);
    this.#reservation.release();
  }
}
