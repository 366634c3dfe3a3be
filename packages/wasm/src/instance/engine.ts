/**
 * The engine: guests in, numbers out. An untrusted module is metered, compiled and cached by digest (compile, cache);
 * admitted within the engine's capacity and linked to a table of host functions, type for type (capacity, link, host);
 * run in a slot with memories of its own (guest-slot, memory); called with fuel, stack and a deadline (call, crossing,
 * guest); and when it fails, V8's message is compared with those of known failures (failure, trap).
 *
 * Trusted: V8, the host functions, the clock. Not trusted: the module, its names, its arguments to host functions, what
 * it leaves in its memory. A guest reaches nothing but its own memory and the rows of the table it was linked to; it
 * stops when its fuel or its stack is used up, at the same instruction each time. What fuel does not bound is the time
 * inside V8's compiler and inside host functions: for a hard limit, run the engine in a process that can be killed.
 *
 * Everything after compilation is synchronous. One call at a time per instance; an instance that failed is never called
 * again; a pool gives every call a new guest. This module opens no file, starts no timer, uses no network and reads no
 * clock but the one it was passed.
 */
import { CEILINGS, DEFAULT_LIMITS, type Limits, narrowLimits } from '../limits.ts';
import { locate } from '../meter/locate.ts';
import { DEFAULT_FORM } from '../meter/meter.ts';
import type { Form } from '../meter/plan.ts';
import { Cache, type CacheBounds } from './cache.ts';
import { Capacity, type Occupancy } from './capacity.ts';
import { type Compilation, type CompiledModule, compile, meterTerms } from './compile.ts';
import { copyBytes } from './copy-bytes.ts';
import { digest, writeHex } from './digest.ts';
import type { Expected } from './disk-form.ts';
import { type HostTable, NO_HOSTS } from './host.ts';
import { type EngineContext, type Instance, type InstanceOptions, instantiate } from './instantiate.ts';
import { type KeyParts, keyOf } from './key.ts';
import { openPool, type Pool, type PoolOptions } from './pool.ts';
import type { Recipe } from './recipe.ts';
import { revive } from './revive.ts';
import { newStack } from './stack.ts';

export type EngineOptions = {
  /** Override the defaults, up to the ceilings. No request to the engine exceeds them. */
  readonly limits?: Partial<Limits>;
  /** How many compiled modules are kept, and how many bytes of them. */
  readonly cache?: CacheBounds;
  /** How many instances may exist at once, those of pools included. */
  readonly instances?: number;
  /** How much memory may be reserved for them together. */
  readonly totalMemoryBytes?: number;
  readonly form?: Form;
  /**
   * NaNs have one bit pattern, those among arguments and results of host functions too, so that a run can be repeated
   * bit for bit on another machine. What a host function writes into the guest's memory is left unchanged.
   */
  readonly deterministic?: boolean;
  /** The clock of deadlines. Milliseconds that only go forward. */
  readonly now?: () => number;
};

export type CompileOptions = {
  readonly limits?: Partial<Limits>;
  /** The table that instances will be linked to: what a call costs is built into the module. */
  readonly hosts?: HostTable;
};

export type Engine = {
  readonly limits: Limits;
  /** Meters and compiles a module, or returns the cached one. The bytes may be changed as soon as this returns. */
  compile(bytes: Uint8Array, options?: CompileOptions): Promise<CompiledModule>;
  /**
   * From the `places` of a failure to offsets in the module, compiled with these options; null where there is none. It takes as
   * long as compiling it.
   */
  locate(bytes: Uint8Array, places: readonly number[], options?: CompileOptions): readonly (number | null)[];
  /** A module from its disk form, checked against the digest (and the seal) that the caller remembers. */
  revive(serialised: Uint8Array, expected: Expected): Promise<CompiledModule>;
  instantiate(compiled: CompiledModule, options?: InstanceOptions): Instance;
  pool(compiled: CompiledModule, options: PoolOptions): Pool;
  /** What is reserved now. */
  occupancy(): Occupancy;
};

const GIB = 1024 ** 3;
const DEFAULT_CACHE: CacheBounds = { entries: 256, bytes: GIB / 4 };
const DEFAULT_INSTANCES = 256;
const DEFAULT_TOTAL_MEMORY_BYTES = 4 * GIB;

/** An engine that shares nothing with another one. */
export function createEngine(options: EngineOptions = {}): Engine {
  const limits = Object.freeze({ ...DEFAULT_LIMITS, ...options.limits });
  narrowLimits(CEILINGS, limits);
  const form = options.form ?? DEFAULT_FORM;
  const isDeterministic = options.deterministic === true;
  const now = options.now ?? (() => performance.now());
  const capacity = new Capacity(
    requireWhole({
      instances: options.instances ?? DEFAULT_INSTANCES,
      totalMemoryBytes: options.totalMemoryBytes ?? DEFAULT_TOTAL_MEMORY_BYTES,
    }),
  );
  const context: EngineContext = { capacity, now, stack: newStack() };
  const cache = new Cache<Compilation>(requireWhole(options.cache ?? DEFAULT_CACHE), ({ bytes }) => bytes);
  const recipes = new WeakMap<CompiledModule, Recipe>();

  function remember({ compiled, recipe }: Compilation): CompiledModule {
    recipes.set(compiled, recipe);
    return compiled;
  }

  function recipeFor(compiled: CompiledModule): Recipe {
    // Boundary: only what this engine metered under its own limits is ever run by it.
    const recipe = recipes.get(compiled);
    if (recipe === undefined)
      throw new TypeError('Cannot make instance: the module was not compiled by this engine');
    return recipe;
  }

  return Object.freeze({
    limits,
    async compile(raw: Uint8Array, { limits: wanted = {}, hosts = NO_HOSTS }: CompileOptions = {}) {
      const narrowed = narrowLimits(limits, wanted);
      const bytes = copyBytes(raw, 'compile', narrowed.moduleBytes);
      const moduleDigest = writeHex(await digest(bytes));
      const parts: KeyParts = {
        moduleDigest,
        limits: narrowed,
        form,
        isDeterministic,
        prices: hosts.prices(),
      };
      const key = await keyOf(parts);
      return remember(await cache.get(writeHex(key), () => compile(bytes, key, parts)));
    },
    locate: (raw: Uint8Array, places: readonly number[], wanted: CompileOptions = {}) =>
      locateIn(raw, places, { wanted, limits, form, isDeterministic }),
    async revive(serialised: Uint8Array, expected: Expected) {
      // Not cached by key: a file is trusted by the caller that passed it, not by everyone who compiles that module.
      return remember(
        await revive(copyBytes(serialised, 'revive'), { ...expected, limits, form, isDeterministic }),
      );
    },
    instantiate: (compiled: CompiledModule, wanted: InstanceOptions = {}) =>
      instantiate(recipeFor(compiled), wanted, context),
    pool: (compiled: CompiledModule, wanted: PoolOptions) => openPool(recipeFor(compiled), wanted, context),
    occupancy: () => capacity.occupancy(),
  });
}

type OwnTerms = Pick<KeyParts, 'limits' | 'form' | 'isDeterministic'> & { readonly wanted: CompileOptions };

function locateIn(raw: Uint8Array, places: readonly number[], { wanted, ...own }: OwnTerms) {
  const { limits = {}, hosts = NO_HOSTS } = wanted;
  const terms = { ...own, limits: narrowLimits(own.limits, limits), prices: hosts.prices() };
  return locate(raw, meterTerms(terms), places);
}

/** Boundary: a bound that is not a number would limit nothing. */
function requireWhole<T extends Readonly<Record<string, number>>>(bounds: T): T {
  for (const [name, bound] of Object.entries(bounds)) {
    if (Number.isSafeInteger(bound) && bound >= 0) continue;
    throw new RangeError(`Cannot create engine: ${name} is ${String(bound)}, expected a whole number`);
  }
  return Object.freeze({ ...bounds });
}
