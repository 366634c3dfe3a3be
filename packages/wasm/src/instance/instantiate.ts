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
import type { CallEnvironment } from './call-state.ts';
import { findCallee, listResults, settleArguments } from './callee.ts';
import type { Capacity, Reservation } from './capacity.ts';
import { GuestSlot } from './guest-slot.ts';
import { type HostTable, NO_HOSTS } from './host.ts';
import { allowanceOf, narrowSlots } from './memory.ts';
import type { MemorySlot, Recipe } from './recipe.ts';
import type { GuestValue } from './value.ts';

/** The limits an instance can have lower than its module; the others were built in when it was compiled. */
export type InstanceLimits = Pick<Limits, 'memoryBytes' | 'fuel' | 'stackBytes'>;

/** The call's options are those of the start function. */
export type InstanceOptions = CallOptions & {
  readonly hosts?: HostTable;
  readonly limits?: Partial<InstanceLimits>;
};

/** What instances need of their engine: its capacity, the clock, and the stack they run on. */
export type EngineContext = CallEnvironment & { readonly capacity: Capacity };

/** What all instances made under the same options share. */
export type InstancePlan = {
  readonly limits: InstanceLimits;
  readonly memorySlots: readonly MemorySlot[];
  readonly allowanceBytes: number;
};

/** Lowers a module's limits for its instances. */
export function planInstance(recipe: Recipe, wanted: Partial<InstanceLimits> = {}): InstancePlan {
  for (const key of Object.keys(wanted)) {
    if (key === 'memoryBytes' || key === 'fuel' || key === 'stackBytes') continue;
    throw new RangeError(
      `Cannot make instance: ${key} cannot be lowered any more, expected it as an option of compile()`,
    );
  }
  const limits = narrowLimits(recipe.limits, wanted);
  const memorySlots = narrowSlots(recipe.memories, limits.memoryBytes, recipe.limits.memoryBytes);
  return { limits, memorySlots, allowanceBytes: allowanceOf(memorySlots, limits.memoryBytes) };
}

/** Admits, links and starts one instance; a failure leaves nothing reserved. */
export function instantiate(
  recipe: Recipe,
  options: InstanceOptions,
  { capacity, ...environment }: EngineContext,
): Instance {
  const plan = planInstance(recipe, options.limits);
  const terms = readTerms(options, plan.limits, environment.stack);
  requireTime(terms.deadline, environment.now);
  const reservation = capacity.reserve(1, plan.allowanceBytes);
  try {
    const slot = new GuestSlot({
      recipe,
      hosts: options.hosts ?? NO_HOSTS,
      memorySlots: plan.memorySlots,
      environment,
    });
    slot.prepare();
    const { start } = slot.state.controls;
    const { usage } = runMetered(slot.state, terms, { owed: recipe.startOwed, work: () => start?.() });
    return new Instance({ slot, reservation, limits: plan.limits, startUsage: usage });
  } catch (error) {
    reservation.release();
    throw error;
  }
}

type InstanceParts = {
  readonly slot: GuestSlot;
  readonly reservation: Reservation;
  readonly limits: InstanceLimits;
  readonly startUsage: Usage;
};

/** One guest that keeps its state from call to call, until it fails or is released, which frees its capacity. */
export class Instance {
  /** What the start function used. */
  readonly startUsage: Usage;
  readonly limits: InstanceLimits;
  readonly #slot: GuestSlot;
  readonly #reservation: Reservation;
  #hasFailed = false;
  #isReleased = false;

  /** @internal */
  constructor({ slot, reservation, limits, startUsage }: InstanceParts) {
    this.#slot = slot;
    this.#reservation = reservation;
    this.limits = limits;
    this.startUsage = startUsage;
  }

  /** Whether every further call is refused. */
  get isRetired(): boolean {
    return this.#hasFailed || this.#isReleased;
  }

  /** Calls a function that the guest exports. Any failure of the guest retires the instance and frees its capacity. */
  call(name: string, args: readonly GuestValue[] = [], options: CallOptions = {}): CallResult {
    const { state, recipe } = this.#slot;
    // Boundary: a guest that failed may be in any state, so nothing of it ever runs again.
    if (this.isRetired) throw this.#retired(name);
    requireIdle(state);
    const { owed } = findCallee(recipe, name, args);
    const terms = readTerms(options, this.limits, state.stack);
    requireTime(terms.deadline, state.now);
    const callee = this.#slot.prepare().exports[name] as (...each: GuestValue[]) => unknown;
    const values = settleArguments(recipe, args);
    try {
      const { returned, usage } = runMetered(state, terms, { owed, work: () => callee(...values) });
      return { results: listResults(returned), ...usage };
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      // Failed, or released while it ran: it can no longer be called, and nothing of it runs.
      if (this.isRetired) this.#retire();
    }
  }

  /** Releases what was reserved, at once or when the running call has ended. Idempotent, also after a failure. */
  release(): void {
    this.#isReleased = true;
    if (this.#slot.state.guest === undefined) this.#retire();
  }

  #retired(name: string): WasmError {
    const is = this.#isReleased ? 'was released' : 'has failed before';
    return new WasmError(
      'retired',
      `Cannot call ${JSON.stringify(name)}: the instance ${is}, expected a new one`,
    );
  }

  #retire(): void {
    this.#slot.clear(false);
    this.#reservation.release();
  }
}
