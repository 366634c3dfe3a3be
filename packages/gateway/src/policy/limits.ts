/** Limits of a policy directory. Each is far above a large real set and far below what harms the gateway. */
export const POLICY_LIMITS = {
  files: 256,
  /** Of a file name, which is in the id of every policy without an @id, and so in records and receipts. */
  nameChars: 128,
  fileBytes: 256 * 1024,
  policies: 2_000,
  /** Nested expressions. Evaluation crashes at about 150, parsing at about 100 brackets; 40 leaves room for both. */
  expressionDepth: 40,
  /** Brackets open at once, counted before Cedar sees the text. */
  openBrackets: 64,
  /** Problems listed for one check; the rest is counted. */
  problems: 50,
} as const;

export const CASE_LIMITS = { cases: 10_000, levels: 64 } as const;

/** How much of a problem is reported. Cedar quotes the text that it cannot read, whole; a record must stay readable. */
export const PROBLEM_LIMITS = { chars: 300, told: 20 } as const;

/** What a tool's JSON Schema may turn into. Deeper values are given as canonical JSON text, further fields not at all. */
export const INPUT_TYPE_LIMITS = { depth: 8, fields: 256, nameChars: 128 } as const;

/** Schemas that one deciding instance keeps; Cedar never frees one, so a fuller instance is replaced. */
export const SCHEMAS_PER_INSTANCE = 256;

export const CACHED_PRINCIPALS = 1_024;

/** Answers that are kept for one principal and one tool: a longer context is hardly ever the same twice; and for later. */
export const KEPT_ANSWERS = { contextChars: 512, contexts: 64, lasting: 1_024 } as const;
