import { canonicalize } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import { type Digest, digestValue } from '../../core/digest.ts';
import { anyText, ifPresent, list, object, readJson, whole } from '../../core/json-shape.ts';
import { type Shape, table } from '../../core/shape.ts';
import { type AuditReport, type AuditVerdict, REPORT } from '../audit/check.ts';
import { GRANTS } from '../capabilities/kinds.ts';
import type { SkillGrant } from '../grant.ts';
import { KEPT_LIMITS } from '../limits.ts';
import { MANIFEST, type Manifest } from '../manifest/manifest.ts';
import type { SummaryRow, VersionRow } from '../tables.ts';

/* What is stored of a skill as text is canonical JSON, checked for its shape when it is read back. */

const limit = ifPresent(whole);
const GRANT: Shape<SkillGrant> = object({
  wasm: GRANTS,
  limits: table({ wallMs: limit, fuel: limit, memoryBytes: limit }) as Shape<SkillGrant['limits']>,
});
const REVIEWERS = list(anyText);

type SameColumns = Pick<SummaryRow, 'id' | 'version' | 'publisher' | 'name' | 'artifact'> &
  Pick<SummaryRow, 'trust' | 'state' | 'reason'>;

/** What both lists and single looks tell of an installed version. */
type InstalledFacts = SameColumns & {
  /** Of the key that signed it. */
  readonly keyId: string;
  readonly installedAtMs: number;
  readonly installedBy: string;
  readonly changedAtMs: number;
  /** A principal, or `gateway`. */
  readonly changedBy: string;
  readonly approvedBy: readonly string[];
  readonly auditedAtMs: number | null;
};

/** One version of a skill with all that is known of it, read back whole or not at all. */
export type InstalledSkill = InstalledFacts & {
  readonly manifest: Manifest;
  /** Null: nothing was granted yet. */
  readonly grant: SkillGrant | null;
  /** Null: it was not audited. */
  readonly report: AuditReport | null;
};

/** One line of a list. What runs is never decided by it. */
export type SkillSummary = InstalledFacts & {
  readonly tools: number;
  readonly verdict: AuditVerdict | null;
};

const BOUND = [
  ...(['id', 'version', 'artifact', 'key_id', 'trust'] as const),
  ...(['state', 'approved_by', 'manifest', 'granted', 'report'] as const),
] as const;

/** Over everything in a row that says whether it runs, what will run and who approved it. */
export function rowDigest(row: Pick<VersionRow, (typeof BOUND)[number]>): Digest {
  return digestValue(BOUND.map((column) => row[column]));
}

export function summaryOf(row: SummaryRow): SkillSummary {
  return { ...factsOf(row), tools: row.tools, verdict: row.verdict };
}

/** Reads a row back; throws `store/corrupt` for one that our code did not write. */
export function skillOf(row: VersionRow): InstalledSkill {
  // Boundary: a state, a manifest, a grant or a package that was exchanged by itself is not the one that was approved.
  if (rowDigest(row) !== row.digest) throw corrupt(row, 'its parts do not belong together');
  const manifest = kept(row, 'manifest', row.manifest, MANIFEST);
  const skill = {
    ...factsOf(row),
    manifest,
    grant: row.granted === null ? null : kept(row, 'grant', row.granted, GRANT),
    report: row.report === null ? null : kept(row, 'report', row.report, REPORT),
  };
  const { id, version, publisher, name } = manifest;
  if (id !== row.id || version !== row.version || publisher !== row.publisher || name !== row.name)
    throw corrupt(row, 'its manifest is that of another');
  if (skill.report !== null && !isReportOf(skill.report, row))
    throw corrupt(row, 'its report is that of another');
  return skill;
}

/** Whether a report is about the bytes of this row. */
export function isReportOf(report: AuditReport, { id, version, artifact, verdict }: ReportedRow): boolean {
  const isSame = report.skill === id && report.version === version && report.artifact === artifact;
  return isSame && report.verdict === verdict;
}

type ReportedRow = Pick<VersionRow, 'id' | 'version' | 'artifact' | 'verdict'>;

function factsOf(row: SummaryRow): InstalledFacts {
  const { id, version, publisher, name, artifact, trust, state, reason } = row;
  return {
    ...{ id, version, publisher, name, artifact, trust, state, reason },
    keyId: row.key_id,
    installedAtMs: row.installed_at_ms,
    installedBy: row.installed_by,
    changedAtMs: row.changed_at_ms,
    changedBy: row.changed_by,
    approvedBy: kept(row, 'list of reviewers', row.approved_by, REVIEWERS),
    auditedAtMs: row.audited_at_ms,
  };
}

/** The one text of a value, which can be read back. */
export function writeKept(value: unknown, what: string): string {
  const text = canonicalize(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= KEPT_LIMITS.maxBytes) return text;
  throw new CodedError(
    'skill/invalid-package',
    `Cannot keep ${what}: it has ${bytes} bytes, expected at most ${KEPT_LIMITS.maxBytes}`,
  );
}

/** Boundary: anyone with access to the database file can write anything here, including what our code never writes. */
function kept<T>(row: SummaryRow, part: string, text: string, shape: Shape<T>): T {
  const read = readJson(text, KEPT_LIMITS, shape);
  if (read.ok) return read.value;
  throw corrupt(row, `its ${part} cannot be read (${read.problem.subject}: ${read.problem.is})`);
}

function corrupt({ id, version }: SummaryRow, is: string): CodedError {
  return new CodedError(
    'store/corrupt',
    `Cannot read the skill ${id}@${version}: ${is}, expected the row as it was written`,
  );
}
