/** What a module may be and what a call may use. Every number counts what its name says, per module unless it says otherwise. */
export type Limits = {
  /** The whole file. */
  readonly moduleBytes: number;
  /** One function's body. V8 refuses more than 7,654,321. */
  readonly functionBytes: number;
  readonly types: number;
  readonly imports: number;
  readonly exports: number;
  /** Functions, imported and defined. */
  readonly functions: number;
  /** Globals, imported and defined. */
  readonly globals: number;
  /** Tables, imported and defined. */
  readonly tables: number;
  /** Memories, imported and defined. */
  readonly memories: number;
  readonly elementSegments: number;
  readonly dataSegments: number;
  readonly customSections: number;
  /** One name of an import, an export or a custom section. */
  readonly nameBytes: number;
  /** Parameters of one function type. */
  readonly params: number;
  /** Results of one function type. */
  readonly results: number;
  /** Locals of one function. */
  readonly locals: number;
  /** Values on the operand stack of one function. */
  readonly operands: number;
  /** Locals and operands times branches, of one function: what V8's compiler takes time for. */
  readonly functionWeight: number;
  /** The same of all functions together; and no more than that of one function and four for each byte of the module. */
  readonly moduleWeight: number;
  /** Blocks open at once in one function, and operands at once in a constant expression. */
  readonly nesting: number;
  /** Targets of all br_tables of one function. */
  readonly branchTargets: number;
  /** All memories of an instance together, at their smallest and as they grow. */
  readonly memoryBytes: number;
  /** All tables of an instance together, at their smallest and as they grow; and all element segments together. */
  readonly tableElements: number;
  /** Operators one call may execute. */
  readonly fuel: number;
  /** Stack one call may use, as the meter counts it. */
  readonly stackBytes: number;
};

const KIB = 1024;
const MIB = 1024 * KIB;

/** The defaults: above every large real module we know, below what harms the host. */
export const DEFAULT_LIMITS: Limits = Object.freeze({
  moduleBytes: 32 * MIB,
  functionBytes: MIB,
  types: 20_000,
  imports: 50_000,
  exports: 50_000,
  functions: 200_000,
  globals: 50_000,
  tables: 100,
  memories: 16,
  elementSegments: 50_000,
  dataSegments: 100_000,
  customSections: 1_000,
  nameBytes: 16 * KIB,
  // A call that passes 500 and returns 500 compiles for a millisecond.
  params: 100,
  results: 50,
  // 50,000 locals around 5,000 ifs are 25 KB that compile for 15 s; 5,000 around 2,000 compile in no time.
  locals: 5_000,
  operands: 2_000,
  // The heaviest function of the large modules we know has 1.6 million, the heaviest module 24 million.
  functionWeight: 10_000_000,
  moduleWeight: 60_000_000,
  nesting: 10_000,
  branchTargets: 100_000,
  memoryBytes: 64 * MIB,
  tableElements: 100_000,
  fuel: 10_000_000,
  stackBytes: 512 * KIB,
});

/** What no configuration can exceed. Where V8 has its own limit, this is at or below it, on every version we run on. */
export const CEILINGS: Limits = Object.freeze({
  moduleBytes: 256 * MIB,
  functionBytes: 7_000_000,
  // V8 takes a million types, functions and globals, and a tenth of that in imports and exports; the meter adds its own.
  types: 400_000,
  imports: 99_000,
  exports: 99_000,
  functions: 400_000,
  globals: 999_000,
  tables: 10_000,
  memories: 100,
  elementSegments: 100_000,
  dataSegments: 100_000,
  customSections: 10_000,
  nameBytes: 100_000,
  // V8 takes 1,000 of each; the meter adds some of its own.
  params: 900,
  results: 900,
  locals: 5_000,
  operands: 10_000,
  functionWeight: 10_000_000,
  moduleWeight: 400_000_000,
  nesting: 100_000,
  branchTargets: 1_000_000,
  memoryBytes: 4 * 1024 * MIB,
  tableElements: 10_000_000,
  fuel: 1_000_000_000_000,
  // V8's own stack is about 1 MB; past it the end of a call depends on the compiler's tier.
  stackBytes: 768 * KIB,
});

/**
 * `base` with the numbers of `by` in place of its own, each lower or equal. Anything else is refused with a RangeError:
 * a limit that is misspelt, not a number or too high is never silently replaced.
 */
export function narrowLimits(base: Limits, by: Partial<Limits>): Limits {
  const narrowed: Record<string, number> = { ...base };
  for (const [key, value] of Object.entries(by)) {
    // Boundary: no unknown key is accepted, and no limit is raised, negative or NaN.
    const most = Object.hasOwn(narrowed, key) ? narrowed[key] : undefined;
    if (most === undefined) {
      throw new RangeError(
        `Cannot narrow limits: "${key}" is not a limit, expected one of ${Object.keys(base).join(', ')}`,
      );
    }
    if (!Number.isSafeInteger(value) || value < 0 || value > most) {
      throw new RangeError(
        `Cannot narrow limits: ${key} is ${String(value)}, expected a whole number from 0 to ${most}`,
      );
    }
    narrowed[key] = value;
  }
  return Object.freeze(narrowed as Limits);
}
