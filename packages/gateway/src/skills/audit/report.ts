import type { Digest } from '../../core/digest.ts';

/** A refusal keeps a skill from being approved; a warning wants a person to accept it; a note is good to know. */
export type AuditSeverity = 'refusal' | 'warning' | 'note';

export type AuditFinding = {
  /** Of the check that found it. */
  readonly id: string;
  readonly severity: AuditSeverity;
  /** A file of the package, with a line where there is one, or a part of the manifest. */
  readonly where: string;
  readonly sentence: string;
  readonly remedy: string;
};

export type AuditVerdict = 'passed' | 'failed';

/** How the test cases of the package ended; null where they were not run. */
export type CaseCounts = { readonly passed: number; readonly failed: number; readonly notRun: number };

export type AuditReport = {
  readonly format: 1;
  readonly skill: string;
  readonly version: string;
  readonly artifact: Digest;
  readonly verdict: AuditVerdict;
  readonly findings: readonly AuditFinding[];
  /** How many checks looked. */
  readonly checks: number;
  readonly cases: CaseCounts | null;
  /** Of the palisade that audited. */
  readonly palisade: string;
};
