import type { Limits } from '../../receipt.ts';
import type { SkillDifference, SkillGrant, SkillTool } from './skill-parts.ts';

export type SkillState =
  | 'ingested'
  | 'audited'
  | 'quarantined'
  | 'approved'
  | 'active'
  | 'disabled'
  | 'revoked';

export type AuditVerdict = 'passed' | 'failed';

/** What lists and single looks show of one version. */
type SkillFacts = {
  readonly id: string;
  readonly version: string;
  readonly state: SkillState;
  readonly name: string;
  readonly publisher: string;
  /** The SHA-256 digest of the package. */
  readonly artifact: string;
  /** Of the key that signed it. */
  readonly keyId: string;
  /** How that key came to be trusted. */
  readonly trust: 'operator' | 'first-use';
  /** Of the last change. */
  readonly reason: string | null;
  readonly approvedBy: readonly string[];
  readonly installedAt: string;
  readonly installedBy: string;
  readonly changedAt: string;
  /** A principal, or `gateway`. */
  readonly changedBy: string;
  readonly auditedAt: string | null;
  readonly verdict: AuditVerdict | null;
};

export type SkillSummary = SkillFacts & {
  /** How many tools it has. */
  readonly tools: number;
};

export type SkillPage = { readonly skills: readonly SkillSummary[]; readonly cursor: string | null };

export type AuditFinding = {
  /** Of the check that found it. */
  readonly id: string;
  readonly severity: 'refusal' | 'warning' | 'note';
  readonly where: string;
  readonly sentence: string;
  readonly remedy: string;
};

export type AuditReport = {
  readonly format: 1;
  readonly skill: string;
  readonly version: string;
  readonly artifact: string;
  readonly verdict: AuditVerdict;
  readonly findings: readonly AuditFinding[];
  /** How many checks looked. */
  readonly checks: number;
  /** How the test cases of the package ended; null: they were not run. */
  readonly cases: { readonly passed: number; readonly failed: number; readonly notRun: number } | null;
  /** The version that audited. */
  readonly palisade: string;
};

/** What it asks for and what became of it; `spelling` is the word that withholds it. */
export type SkillCapability = {
  readonly spelling: string;
  readonly sentence: string;
  readonly isReaching: boolean;
  readonly stand: 'open' | 'granted' | 'narrowed' | 'withheld';
  readonly granted: readonly string[];
};

/** One version with all that is known of it. */
export type SkillDocument = SkillFacts & {
  readonly description: string;
  readonly license: string | null;
  readonly homepage: string | null;
  readonly tools: readonly SkillTool[];
  readonly capabilities: readonly SkillCapability[];
  /** The most that a call of it wants; null: what the gateway gives. */
  readonly quotas: {
    readonly wallMs: number | null;
    readonly fuel: number | null;
    readonly memoryBytes: number | null;
  };
  readonly review: { readonly reviewers: number; readonly reauditDays: number | null };
  readonly compat: { readonly abi: 1; readonly palisadeMin: string | null };
  readonly grant: SkillGrant | null;
  readonly report: AuditReport | null;
};

export type ShownSkill = SkillDocument & {
  readonly versions: readonly { readonly version: string; readonly state: SkillState }[];
};

export type ApprovedSkill = SkillDocument & {
  /** How many others have to approve the same. */
  readonly reviewersMissing: number;
};

export type ChangedSkill = SkillDocument & {
  readonly event: 'quarantine' | 'enable' | 'disable' | 'revoke' | 'remove';
};

export type RolledBackSkill = { readonly id: string; readonly from: string | null; readonly to: string };

export type AuditRequest = {
  readonly version?: string | undefined;
  /** Whether its test cases are run as well; they are unless told. */
  readonly withCases?: boolean | undefined;
};

export type ApproveRequest = {
  readonly version?: string | undefined;
  readonly reason: string;
  /** What is not granted, each in the spelling of its capability. */
  readonly withhold?: readonly string[] | undefined;
  /** Less than it asks for. */
  readonly limits?:
    | { readonly [Term in 'wallMs' | 'fuel' | 'memoryBytes']?: Limits[Term] | undefined }
    | undefined;
  /** The values that it asks the operator for. */
  readonly config?: Readonly<Record<string, string>> | undefined;
  /** Whoever approves has read the warnings of the audit. */
  readonly acceptFindings?: boolean | undefined;
  /** Whether it is switched on at once; it is unless told. */
  readonly enable?: boolean | undefined;
  /** What whoever approves was shown; a skill that was changed since is not approved. */
  readonly asShown?: { readonly artifact: string; readonly changedAt: string } | undefined;
};

export type ChangeRequest = {
  /** Left out: the one that runs, else the one that fits. */
  readonly version?: string | undefined;
  readonly reason?: string | undefined;
};

export type RollbackRequest = { readonly reason?: string | undefined };

/** What came of an audit, and what the skill is after it. */
export type SkillAudit = AuditReport & { readonly state: SkillState; readonly reason: string | null };

export type InstalledSkill = {
  readonly skill: SkillDocument;
  /** Against the version that runs; null: none does. */
  readonly difference: SkillDifference | null;
  /** False: the very same package was installed already. */
  readonly isNew: boolean;
};
