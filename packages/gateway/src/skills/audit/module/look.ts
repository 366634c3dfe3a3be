import { CODES, type Code } from '@palisade/sdk';
import {
  CEILINGS,
  DEFAULT_LIMITS,
  type Facts,
  inspect,
  type Limits,
  type Metered,
  meter,
  WasmError,
  type WasmErrorCode,
} from '@palisade/wasm';

/*
 * Reads a module for an audit. Nothing is compiled or run: the bytes go through the reader and the survey of the
 * engine, V8 validates them, and the meter rewrites them where only that shows whether they are accepted.
 */

/** Everything that is known of a module without compiling or running it. */
export type Looked = {
  readonly facts: Facts;
  /** The module as the engine would run it; null when it would not, or when that was not needed. */
  readonly metered: Metered | null;
  readonly needs: readonly Need[];
  /** Why the engine would refuse it. */
  readonly refusal: WasmError | null;
};

/** Inspects a whole module. Throws a WasmError for bytes that are not a module within the limits and features. */
export function lookWhole(bytes: Uint8Array, limits: Partial<Limits> = {}): Looked {
  const facts = inspect(bytes, limits);
  const { metered, refusal } = tryMeter(bytes, limits);
  return { facts, metered, refusal, needs: listNeeds(facts, metered) };
}

export const LARGE_FUNCTION_BYTES = 256 * 1024;
/** A type like `(i32) -> (i32, i32)`; V8 makes wrappers for exports of them, and the engine bounds how many. */
const SEVERAL_RESULTS = /-> \([^)]/;
/** Its memory is checked against the quota of the skill instead. */
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
  // Boundary: the reader does not type-check the code; V8 does.
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

/** A limit, and how much of it the module uses; null if only running or further reading would show it. */
export type Need = {
  readonly limit: keyof Limits;
  readonly found: number | null;
  readonly most: number;
};

export const PAGE_BYTES = 65_536;

/** What a module needs of each limit, in the order of the limits. */
function listNeeds(facts: Facts, metered: Metered | null): readonly Need[] {
  const found = foundIn(facts, metered);
  return (Object.keys(DEFAULT_LIMITS) as (keyof Limits)[]).map((limit) => ({
    limit,
    found: found[limit] ?? null,
    most: DEFAULT_LIMITS[limit],
  }));
}

function foundIn(facts: Facts, metered: Metered | null): Partial<Record<keyof Limits, number | null>> {
  const { counts, bodies } = facts;
  return {
    moduleBytes: facts.bytes,
    functionBytes: metered === null ? null : largestBody(metered),
    types: counts.types,
    imports: counts.imports,
    exports: counts.exports,
    functions: counts.importedFunctions + counts.definedFunctions,
    globals: counts.globals,
    tables: counts.tables,
    memories: counts.memories,
    elementSegments: counts.elementSegments,
    dataSegments: counts.dataSegments,
    customSections: counts.customSections,
    locals: bodies?.mostLocals ?? null,
    nesting: bodies?.deepestNesting ?? null,
    memoryBytes: facts.memory.min * PAGE_BYTES,
    tableElements: facts.table.min,
  };
}

function largestBody({ module: { bodies } }: Metered): number {
  let largest = 0;
  for (let at = 0; at + 1 < bodies.length; at += 2)
    largest = Math.max(largest, (bodies[at + 1] ?? 0) - (bodies[at] ?? 0));
  return largest;
}

/** How a command ends when the engine refuses or a guest fails. */
export const CODE_OF: Readonly<Record<WasmErrorCode, Code>> = {
  malformed: 'wasm/malformed',
  invalid: 'wasm/invalid',
  feature: 'wasm/feature',
  limit: 'wasm/limit',
  memory: 'wasm/limit',
  link: 'wasm/link',
  export: 'door/wrong-usage',
  fuel: 'wasm/out-of-fuel',
  stack: 'wasm/trapped',
  unreachable: 'wasm/trapped',
  'out-of-bounds': 'wasm/trapped',
  arithmetic: 'wasm/trapped',
  'indirect-call': 'wasm/trapped',
  trap: 'wasm/trapped',
  // No command has host functions, deadlines or an instance that it calls after a failure.
  host: 'gateway/fault',
  deadline: 'gateway/fault',
  retired: 'gateway/fault',
};

/** What a person can do about an error of the engine. */
export function remedyOf({ code }: WasmError): string {
  return CODES[CODE_OF[code]].remedy;
}

/** How the names begin that the meter exports; no module may have one of its own. */
export const RESERVED = 'palisade:';
export const RESERVED_REMEDY =
  'Use the module as it was before metering; if it was never metered, rename its exports.';
