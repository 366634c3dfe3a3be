/*
 * The limits of skills: packages, manifests, schemas, test cases and what is listed of them. What comes from a publisher
 * is measured before it is read.
 */

/** The largest package, for writer and reader. Nothing is compressed, so there is no ratio to limit. */
export const PACKAGE_LIMITS = {
  packageBytes: 64 * 1024 * 1024,
  entries: 512,
  entryBytes: 32 * 1024 * 1024,
  /** Shorter than what any file system takes, with space for the folder that it is unpacked into. */
  pathChars: 128,
  pathDepth: 8,
} as const;

export const MANIFEST_LIMITS = {
  fileBytes: 256 * 1024,
  /** A schema may have 32 levels and begins on the fourth; the rest lets a deeper one get a better message. */
  levels: 64,
  /** The second parser is slow: this many values take it some tens of milliseconds. */
  values: 16_384,
  /** More at once is not readable, and a hostile file could make thousands. */
  shownProblems: 50,
} as const;

/** Of the test cases of a package: all of them, and one file of them. */
export const CASE_LIMITS = { cases: 256, nameChars: 200, fileBytes: 4 * 1024 * 1024, levels: 64 } as const;

/** Of the answers to requests of test cases; a guest may cause a miss with every request. */
export const FIXTURE_LIMITS = {
  fixtures: 256,
  fileBytes: 4 * 1024 * 1024,
  levels: 64,
  shownMisses: 3,
} as const;

/** Of SKILL.md. */
export const PROSE_LIMITS = { fileBytes: 256 * 1024, nameChars: 64 } as const;

/** Of one schema, in the manifest or in a file of its own; it bounds what a gateway compiles for each tool. */
export const SCHEMA_LIMITS = { maxBytes: 64 * 1024, maxDepth: 32 } as const;

/** Of the file of advisories, which the operator keeps: all advisories of a large ecosystem fit. */
export const ADVISORY_LIMITS = { maxBytes: 256 * 1024 * 1024, maxDepth: 64 } as const;

/** Of what is kept of a skill as JSON: a manifest brings its schemas along, and the canonical encoding has 128 levels. */
export const KEPT_LIMITS = { maxBytes: 8 * 1024 * 1024, maxDepth: 128 } as const;

/** Of the JSON documents in a package. */
export const STATEMENT_LIMITS = { maxBytes: 1024 * 1024, maxDepth: 8 } as const;
export const PROVENANCE_LIMITS = { maxBytes: 1024 * 1024, maxDepth: 32 } as const;
export const BOM_LIMITS = { maxBytes: 8 * 1024 * 1024, maxDepth: 64 } as const;
export const LOCK_LIMITS = { maxBytes: 8 * 1024 * 1024, maxDepth: 32 } as const;
/** Differences that one finding lists: more than a person reads. */
export const MAX_SHOWN_DIFFERENCES = 50;

/** Of an audit, so that no package blocks the gateway for long and a report stays readable. */
export const AUDIT_LIMITS = {
  /** Findings of one check that are listed one by one; the rest is counted. */
  findingsPerCheck: 20,
  textChars: 600,
  /** All test cases of a package together; cases that have not started by then are not run. */
  casesMs: 120_000,
  patternChars: 256,
  schemaDepth: 16,
  schemaParts: 500,
  /** Half a millisecond of compiling each: past this, compiling would block the gateway for seconds. */
  schemaCost: 1_000,
  schemaCostInAll: 2_500,
  /** Parts of one schema that are looked at. */
  walkedSchemaParts: 5_000,
  /** Custom sections of one module that are looked at. */
  sections: 20_000,
} as const;
