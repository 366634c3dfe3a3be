import { DEFAULT_LIMITS, type Facts, type Limits, type Metered } from '@palisade/wasm';

/** A limit that holds, and how much of it the module takes; null where only running or reading on would tell. */
export type Need = {
  readonly limit: keyof Limits;
  readonly found: number | null;
  readonly most: number;
};

export const PAGE_BYTES = 65_536;

/** What a module needs of each limit, in the order of the limits. */
export function listNeeds(facts: Facts, metered: Metered | null): readonly Need[] {
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
