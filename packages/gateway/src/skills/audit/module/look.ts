/*
 * Reads a module for an audit. Nothing is compiled or run: the bytes go through the reader and the survey of the engine,
 * V8 validates them, and the meter rewrites them where only that would tell whether they are taken.
 */
import { CEILINGS, type Facts, inspect, type Limits, type Metered, meter, WasmError } from '@palisade/wasm';
import { LARGE_FUNCTION_BYTES } from './checks.table.ts';
import { listNeeds, type Need } from './needs.ts';
import { RESERVED } from './refusal.ts';

/** All that can be told of a module without compiling or running it. */
export type Looked = {
  readonly facts: Facts;
  /** The module as the engine would run it; null when it would not, or when nobody had to know. */
  readonly metered: Metered | null;
  readonly needs: readonly Need[];
  /** Why the engine would not take it. */
  readonly refusal: WasmError | null;
};

/** Looks at all of a module. Throws a WasmError for what is no module, or not one within the limits and features. */
export function lookWhole(bytes: Uint8Array, limits: Partial<Limits> = {}): Looked {
  const facts = inspect(bytes, limits);
  const { metered, refusal } = tryMeter(bytes, limits);
  return { facts, metered, refusal, needs: listNeeds(facts, metered) };
}

/** A type like `(i32) -> (i32, i32)`; V8 makes wrappers for exports of them, and the engine bounds how many. */
const SEVERAL_RESULTS = /-> \([^)]/;
/** Its memory is held to the quota of the skill instead. */
const SKILL_LIMITS: Partial<Limits> = { memoryBytes: CEILINGS.memoryBytes };
const SMALL_FUNCTIONS: Partial<Limits> = { ...SKILL_LIMITS, functionBytes: LARGE_FUNCTION_BYTES - 1 };

/**
 * The same for a module of a skill, in a third of the time: what has small functions and plain exports is never refused
 * by the rewriting, so that is left out. Throws the same.
 */
export function lookBriefly(bytes: Uint8Array): Looked {
  const facts = inspectSmall(bytes);
  if (facts === null || !isTakenAsItIs(bytes, facts)) return lookWhole(bytes, SKILL_LIMITS);
  return { facts, metered: null, refusal: null, needs: listNeeds(facts, null) };
}

/** Null for a module with a large function. */
function inspectSmall(bytes: Uint8Array): Facts | null {
  try {
    return inspect(bytes, SMALL_FUNCTIONS);
  } catch (error) {
    if (error instanceof WasmError && error.detail === 'functionBytes') return null;
    throw error;
  }
}

function isTakenAsItIs(bytes: Uint8Array, { exports }: Facts): boolean {
  const isPlain = exports.every(
    ({ name, type }) => !name.startsWith(RESERVED) && !SEVERAL_RESULTS.test(type),
  );
  // Boundary: the reader does not look whether the types of the code fit together; V8 does.
  return isPlain && WebAssembly.validate(new Uint8Array(bytes));
}

type Tried = { readonly metered: Metered | null; readonly refusal: WasmError | null };

function tryMeter(bytes: Uint8Array, limits: Partial<Limits>): Tried {
  try {
    return { metered: meter(bytes, { limits }), refusal: null };
  } catch (refusal) {
    if (!(refusal instanceof WasmError)) throw refusal;
    return { metered: null, refusal };
  }
}
