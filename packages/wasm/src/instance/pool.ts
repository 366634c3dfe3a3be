import { type Usage, WasmError } from '../error.ts';
import { type CallOptions, type CallResult, readTerms, requireTime, runMetered } from './call.ts';
import type { CallEnvironment, CallState } from './call-state.ts';
import { findCallee, listResults, settleArguments } from './callee.ts';
import type { Reservation } from './capacity.ts';
import {
  type BytesExports,
  type BytesOptions,
  type BytesResult,
  beginsWith,
  POINTER_AND_LENGTH,
  passBytes,
  requirePassing,
} from './exchange.ts';
import { type Guest, GuestView } from './guest.ts';
import { GuestSlot } from './guest-slot.ts';
import { type HostTable, NO_HOSTS } from './host.ts';
import { type EngineContext, type InstanceLimits, planInstance } from './instantiate.ts';
import type { Recipe } from './recipe.ts';
import type { GuestValue } from './value.ts';

export type PoolOptions = {
  /** How many runs may be nested: one, unless host functions run guests of the same pool. */
  readonly size: number;
  readonly hosts?: HostTable;
  readonly limits?: Partial<InstanceLimits>;
};

/** Refuses a pool that exceeds the engine's caps, or a module that cannot be linked, before anything is run. */
export function openPool(
  recipe: Recipe,
  options: PoolOptions,
  { capacity, ...environment }: EngineContext,
): Pool {
  const { size, hosts = NO_HOSTS } = options;
  if (!Number.isSafeInteger(size) || size < 1) {
    throw new RangeError(`Cannot open pool: its size is ${String(size)}, expected a whole number from 1`);
  }
  const { limits, memorySlots, allowanceBytes } = planInstance(recipe, options.limits);
  const reservation = capacity.reserve(size, allowanceBytes);
  try {
    const slots = Array.from(
      { length: size },
      () => new GuestSlot({ recipe, hosts, memorySlots, environment }),
    );
    return new Pool({ recipe, limits, reservation, slots, environment });
  } catch (error) {
    reservation.release();
    throw error;
  }
}

type PoolParts = {
  readonly recipe: Recipe;
  readonly limits: InstanceLimits;
  readonly reservation: Reservation;
  readonly slots: readonly GuestSlot[];
  readonly environment: CallEnvironment;
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

/** Runs each call on a new guest, in reused slots. Nothing of one run is visible in the next. */
export class Pool {
  readonly limits: InstanceLimits;
  readonly #recipe: Recipe;
  readonly #reservation: Reservation;
  readonly #environment: CallEnvironment;
  readonly #slots: readonly GuestSlot[];
  #isClosed = false;

  /** @internal */
  constructor({ recipe, limits, reservation, slots, environment }: PoolParts) {
    this.limits = limits;
    this.#recipe = recipe;
    this.#reservation = reservation;
    this.#slots = slots;
    this.#environment = environment;
  }

  /** Calls one function of a new guest. The fuel pays for the guest's start function too, and what was used counts both. */
  run(name: string, args: readonly GuestValue[] = [], options: CallOptions = {}): CallResult {
    const { owed } = findCallee(this.#recipe, name, args);
    const values = settleArguments(this.#recipe, args);
    const { returned, usage } = this.#runInSlot(options, owed, ({ state }) => {
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
    const { returned, usage } = this.#runInSlot(options, 0, ({ state }) => attempt(state, use));
    return { value: returned as T, ...usage };
  }

  /**
   * Passes bytes to a new guest and returns its answer: `room` allocates that many bytes, `work` takes their address and
   * length and returns those of the answer in one i64, the address in the upper half. It is one call, with one count of fuel.
   * `begin` is called before them, if the module exports it and it takes and returns nothing.
   */
  exchange(names: BytesExports, input: Uint8Array, options: BytesOptions = {}): BytesResult {
    const { mostBytes = Number.MAX_SAFE_INTEGER, ...terms } = options;
    requirePassing(this.#recipe, names.room, ['i32'], 'i32');
    requirePassing(this.#recipe, names.work, POINTER_AND_LENGTH, 'i64');
    const { begin, ...others } = names;
    const all = beginsWith(this.#recipe, begin) ? { begin, ...others } : others;
    const { value, ...usage } = this.visit(terms, (guest) => passBytes(guest, all, input, mostBytes));
    return { bytes: value, ...usage };
  }

  #runInSlot(
    options: CallOptions,
    owed: number,
    use: (slot: GuestSlot) => unknown,
  ): ReturnType<typeof runMetered> {
    const { now, stack } = this.#environment;
    const terms = readTerms(options, this.limits, stack);
    requireTime(terms.deadline, now);
    const slot = this.#findFree();
    let endedWell = false;
    slot.isTaken = true;
    try {
      slot.occupy();
      const { start } = slot.state.controls;
      const work = () => {
        start?.();
        return use(slot);
      };
      const ended = runMetered(slot.state, terms, { owed: owed + this.#recipe.startOwed, work });
      endedWell = true;
      return ended;
    } finally {
      // No call does this: where the machine's stack is used up, calls fail, and the slot would be lost with them.
      slot.isTaken = false;
      this.#release(slot, endedWell);
    }
  }

  /**
   * Prepares new guests in the free slots. A run that finds one takes a fifth of the time; as runs are synchronous, doing
   * this at the end of each would only move the work, so the owner calls it when idle.
   */
  prepare(): void {
    this.#requireOpen();
    for (const slot of this.#slots) if (!slot.isTaken) slot.prepare();
  }

  /** Releases what was reserved, at once or when the last run has ended. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#releaseIfDone();
  }

  #findFree(): GuestSlot {
    this.#requireOpen();
    const slot = this.#slots.find(({ isTaken }) => !isTaken);
    if (slot !== undefined) return slot;
    const message = `Cannot run: all ${this.#slots.length} slots of the pool are in use, expected a run to end`;
    throw new WasmError('memory', message, { detail: 'pool' });
  }

  /** Boundary: a released slot is never used again. */
  #requireOpen(): void {
    if (this.#isClosed) throw new WasmError('retired', 'Cannot run: the pool is closed');
  }

  #release(slot: GuestSlot, endedWell: boolean): void {
    slot.clear(endedWell && !this.#isClosed);
    if (this.#isClosed) this.#releaseIfDone();
  }

  #releaseIfDone(): void {
    if (this.#slots.some(({ isTaken }) => isTaken)) return;
    for (const slot of this.#slots) slot.clear(false);
    this.#reservation.release();
  }
}
