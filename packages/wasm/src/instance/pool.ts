import { type Usage, WasmError } from '../error.ts';
import { type CallOptions, type CallResult, readTerms, requireTime, runMetered } from './call.ts';
import type { CallState, Surroundings } from './call-state.ts';
import { findCallee, listResults, settleArguments } from './callee.ts';
import {
  type BytesExports,
  type BytesOptions,
  type BytesResult,
  PLACE,
  passBytes,
  requirePassing,
} from './exchange.ts';
import { type Guest, GuestView } from './guest.ts';
import { type HostTable, NO_HOSTS } from './host.ts';
import type { Reservation } from './house.ts';
import { type InstanceLimits, type Premises, readLease } from './instantiate.ts';
import type { Recipe } from './recipe.ts';
import { Seat } from './seat.ts';
import type { GuestValue } from './value.ts';

export type PoolOptions = {
  /** How many runs may be inside each other: one, unless host functions run guests of the same pool. */
  readonly size: number;
  readonly hosts?: HostTable;
  readonly limits?: Partial<InstanceLimits>;
};

/** Refuses a pool that exceeds the engine's caps, or a module that cannot be linked, before anything is run. */
export function openPool(recipe: Recipe, options: PoolOptions, { house, ...surroundings }: Premises): Pool {
  const { size, hosts = NO_HOSTS } = options;
  if (!Number.isSafeInteger(size) || size < 1) {
    throw new RangeError(`Cannot open pool: its size is ${String(size)}, expected a whole number from 1`);
  }
  const { limits, slots, allowanceBytes } = readLease(recipe, options.limits);
  const reservation = house.reserve(size, allowanceBytes);
  try {
    const seats = Array.from({ length: size }, () => new Seat({ recipe, hosts, slots, surroundings }));
    return new Pool({ recipe, limits, reservation, seats, surroundings });
  } catch (error) {
    reservation.release();
    throw error;
  }
}

type PoolParts = {
  readonly recipe: Recipe;
  readonly limits: InstanceLimits;
  readonly reservation: Reservation;
  readonly seats: readonly Seat[];
  readonly surroundings: Surroundings;
};

/** Runs a visit inside its call. */
function attempt<T>(state: CallState, use: (guest: Guest) => T): T {
  const guest = new GuestView(state, true);
  state.guest = guest;
  try {
    return use(guest);
  } catch (thrown) {
    state.fault = { thrown };
    throw thrown;
  }
}

/** Runs each call on a new guest, in reused seats. Nothing of one run is visible in the next. */
export class Pool {
  readonly limits: InstanceLimits;
  readonly #recipe: Recipe;
  readonly #reservation: Reservation;
  readonly #surroundings: Surroundings;
  readonly #seats: readonly Seat[];
  #isClosed = false;

  /** @internal */
  constructor({ recipe, limits, reservation, seats, surroundings }: PoolParts) {
    this.limits = limits;
    this.#recipe = recipe;
    this.#reservation = reservation;
    this.#seats = seats;
    this.#surroundings = surroundings;
  }

  /** Calls one function of a new guest. The fuel pays for the guest's start function too, and what was used counts both. */
  run(name: string, args: readonly GuestValue[] = [], options: CallOptions = {}): CallResult {
    const { owed } = findCallee(this.#recipe, name, args);
    const values = settleArguments(this.#recipe, args);
    const { returned, usage } = this.#seated(options, owed, ({ state }) => {
      const callee = state.exports[name] as (...each: GuestValue[]) => unknown;
      return callee(...values);
    });
    return { results: listResults(returned), ...usage };
  }

  /**
   * Lets `use` call a new guest as often as it wants and reach its memory: all of it one call, with one count of fuel,
   * over when `use` returns. An error of `use` itself is rethrown; a failure of the guest is thrown in any case.
   */
  visit<T>(options: CallOptions, use: (guest: Guest) => T): Usage & { readonly value: T } {
    const { returned, usage } = this.#seated(options, 0, ({ state }) => attempt(state, use));
    return { value: returned as T, ...usage };
  }

  /**
   * Passes bytes to a new guest and returns its answer: `room` allocates that many, `work` takes address and length and
   * returns those of its answer in one i64, the address in the upper half. It is one call, with one count of fuel.
   */
  exchange(names: BytesExports, input: Uint8Array, options: BytesOptions = {}): BytesResult {
    const { mostBytes = Number.MAX_SAFE_INTEGER, ...terms } = options;
    requirePassing(this.#recipe, names.room, ['i32'], 'i32');
    requirePassing(this.#recipe, names.work, PLACE, 'i64');
    const { value, ...usage } = this.visit(terms, (guest) => passBytes(guest, names, input, mostBytes));
    return { bytes: value, ...usage };
  }

  #seated(options: CallOptions, owed: number, use: (seat: Seat) => unknown): ReturnType<typeof runMetered> {
    const { now, stack } = this.#surroundings;
    const terms = readTerms(options, this.limits, stack);
    requireTime(terms.deadline, now);
    const seat = this.#findFree();
    let endedWell = false;
    seat.isTaken = true;
    try {
      seat.occupy();
      const { start } = seat.state.controls;
      const work = () => {
        start?.();
        return use(seat);
      };
      const ended = runMetered(seat.state, terms, { owed: owed + this.#recipe.startOwed, work });
      endedWell = true;
      return ended;
    } finally {
      // No call does this: where the machine's stack is used up, calls fail, and the seat would be lost with them.
      seat.isTaken = false;
      this.#giveBack(seat, endedWell);
    }
  }

  /**
   * Prepares new guests in empty seats. A run that finds one takes a fifth of the time; as runs are synchronous, doing
   * this at the end of each would only move the work, so the owner calls it when idle.
   */
  prepare(): void {
    this.#requireOpen();
    for (const seat of this.#seats) if (!seat.isTaken) seat.seat();
  }

  /** Releases what was reserved, at once or when the last run has ended. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#leaveIfDone();
  }

  #findFree(): Seat {
    this.#requireOpen();
    const seat = this.#seats.find(({ isTaken }) => !isTaken);
    if (seat !== undefined) return seat;
    const message = `Cannot run: all ${this.#seats.length} places of the pool are taken, expected a run to end`;
    throw new WasmError('memory', message, { detail: 'pool' });
  }

  /** Boundary: a released seat is never used again. */
  #requireOpen(): void {
    if (this.#isClosed) throw new WasmError('retired', 'Cannot seat guest: the pool is closed');
  }

  #giveBack(seat: Seat, endedWell: boolean): void {
    seat.clear(endedWell && !this.#isClosed);
    if (this.#isClosed) this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (this.#seats.some(({ isTaken }) => isTaken)) return;
    for (const seat of this.#seats) seat.clear(false);
    this.#reservation.release();
  }
}
