import { CodedError } from '../../core/coded-error.ts';
import type { Digest } from '../../core/digest.ts';
import { insertInto, type Transaction } from '../../store/transaction.ts';
import type { AuditReport } from '../audit/check.ts';
import type { SkillGrant } from '../grant.ts';
import type { SkillState } from '../lifecycle.table.ts';
import { isStep, type SkillRef } from '../lifecycle.ts';
import { compareVersions } from '../semver.ts';
import { query, type SkillTables, type VersionRow } from '../tables.ts';
import { activeOf, highestOf, isRevokedArtifact, selectVersion, skillAt } from './read.ts';
import { type InstalledSkill, isReportOf, rowDigest, skillOf, writeKept } from './skill.ts';

/* How the index changes: a version comes in, goes from state to state, and is forgotten; each within a transaction of the caller. */

const DAY_MS = 86_400_000;

const insertVersion = insertInto<NewRow>('skill_version');
const insertTool = insertInto<SkillTables['skill_tool']>('skill_tool');
const replaceHighest = insertInto<SkillTables['skill_highest']>('skill_highest', 'replace');
const insertRevoked = insertInto<SkillTables['skill_revoked']>('skill_revoked', 'keep');

/** What a change rewrites. */
const CHANGED_COLUMNS = [
  ...(['state', 'reason', 'changed_at_ms', 'changed_by', 'granted', 'report', 'verdict'] as const),
  ...(['approved_by', 'audited_at_ms', 'audit_by_ms', 'digest'] as const),
] as const;
type ChangedColumns = Pick<VersionRow, (typeof CHANGED_COLUMNS)[number]>;

const updateVersion = query<ChangedColumns & { seq: number; from: SkillState }>()((db, p) =>
  db
    .updateTable('skill_version')
    .set(Object.fromEntries(CHANGED_COLUMNS.map((column) => [column, p(column)])))
    .where('seq', '=', p('seq'))
    .where('state', '=', p('from')),
);

const deleteVersion = query<{ seq: number }>()((db, p) =>
  db.deleteFrom('skill_version').where('seq', '=', p('seq')),
);

type NewRow = Omit<VersionRow, 'seq'>;

/** A valid package whose signer is trusted. */
export type NewSkill = Pick<InstalledSkill, 'id' | 'version' | 'publisher' | 'name' | 'artifact' | 'keyId'> &
  Pick<InstalledSkill, 'trust' | 'manifest' | 'installedAtMs' | 'installedBy'>;

type Added = {
  readonly skill: InstalledSkill;
  /** False: these exact bytes were installed already, and nothing was changed. */
  readonly isNew: boolean;
};

/** Keeps a version in the state `ingested`, once; other bytes under an id and a version that are taken are `skill/conflict`. */
export function addVersion(tx: Transaction, added: NewSkill): Added {
  const { id, version, manifest, artifact } = added;
  const there = skillAt(tx, id, version);
  if (there !== null) {
    requireSameBytes(there, artifact);
    return { skill: there, isNew: false };
  }
  // Boundary: what was revoked does not come back by being removed and installed again.
  if (isRevokedArtifact(tx, artifact)) {
    throw new CodedError('skill/revoked', `Cannot install ${id}@${version}: these very bytes were revoked`);
  }
  tx.run(insertVersion, rowOf(added));
  const row = demandRow(tx, added, 'ingested');
  for (const tool of manifest.tools) tx.run(insertTool, { tool_id: `${id}.${tool.id}`, seq: row.seq });
  const highest = highestOf(tx, id);
  if (highest === null || compareVersions(version, highest) > 0) tx.run(replaceHighest, { id, version });
  return { skill: skillOf(row), isNew: true };
}

/** Boundary: what was looked at and approved under a name is never exchanged under it. */
export function requireSameBytes(there: InstalledSkill, artifact: Digest): void {
  if (there.artifact === artifact) return;
  throw new CodedError(
    'skill/conflict',
    `Cannot install ${there.id}@${there.version}: it is installed with other bytes (sha256 ${there.artifact}), expected a version of its own`,
    {
      remedy:
        'Have the publisher give every package a version of its own; or remove the installed one first.',
    },
  );
}

function rowOf(added: NewSkill): NewRow {
  const { keyId, manifest, installedAtMs, installedBy, ...facts } = added;
  const row = {
    ...facts,
    key_id: keyId,
    manifest: writeKept(manifest, `the manifest of "${added.id}"`),
    ...({ state: 'ingested', approved_by: '[]', granted: null, report: null } as const),
    ...{ tools: manifest.tools.length, verdict: null, reason: null, audited_at_ms: null, audit_by_ms: null },
    ...{ installed_at_ms: installedAtMs, installed_by: installedBy },
    ...{ changed_at_ms: installedAtMs, changed_by: installedBy },
  };
  return { ...row, digest: rowDigest(row) };
}

/** One step of a version from the state it is believed to be in. */
export type SkillChange = SkillRef & {
  readonly from: SkillState;
  readonly to: SkillState;
  readonly atMs: number;
  /** A principal, or `gateway`. */
  readonly by: string;
  readonly reason: string | null;
  /** Left out: as it is. What enters quarantine loses it. */
  readonly grant?: SkillGrant | null;
  /** Of an audit at `atMs`. Left out: as it is. */
  readonly report?: AuditReport;
  /** Left out: as it is. What enters quarantine loses them. */
  readonly approvedBy?: readonly string[];
};

/**
 * Takes a version from one state to another, if it is still in the first; otherwise `skill/conflict`, and nothing is
 * changed. What belongs to the state it leaves (a grant, approvals) does not go along into quarantine.
 */
export function changeVersion(tx: Transaction, change: SkillChange): void {
  const { id, version, from, to } = change;
  if (!isStep(from, to)) throw new TypeError(`Cannot change skill: no event leads from ${from} to ${to}`);
  const row = demandRow(tx, change, to);
  if (row.state !== from) throw conflict(change, to, `it is ${row.state} by now, expected ${from}`);
  // Boundary: a row that was tampered with can only be taken out of use.
  if (to !== 'quarantined' && to !== 'revoked') skillOf(row);
  const active = to === 'active' && from !== 'active' ? activeOf(tx, id) : null;
  if (active !== null) throw conflict(change, to, `version ${active} is active, expected no other`);
  const changed = tx.run(updateVersion, { ...nextOf(row, change), seq: row.seq, from });
  if (changed !== 1) throw conflict(change, to, `it is no longer ${from}`);
  if (to !== 'revoked') return;
  const { artifact } = row;
  const { atMs, by, reason } = change;
  tx.run(insertRevoked, { artifact, id, version, at_ms: atMs, by, reason });
}

/** Removes a version, unless it is active; what was highest and what was revoked stays known. */
export function dropVersion(tx: Transaction, id: string, version: string): void {
  const row = demandRow(tx, { id, version }, 'remove');
  if (row.state === 'active') throw conflict(row, 'remove', 'it is active, expected it to be switched off');
  tx.run(deleteVersion, { seq: row.seq });
}

function nextOf(row: VersionRow, change: SkillChange): ChangedColumns {
  const isNewInQuarantine = change.to === 'quarantined' && change.from !== 'quarantined';
  const { grant, report, approvedBy } = {
    ...(isNewInQuarantine ? { grant: null, approvedBy: [] } : {}),
    ...change,
  };
  const granted = grant === undefined ? row.granted : grant && writeKept(grant, `the grant of "${row.id}"`);
  const next = {
    state: change.to,
    reason: change.reason,
    changed_at_ms: change.atMs,
    changed_by: change.by,
    approved_by: approvedBy === undefined ? row.approved_by : writeKept(approvedBy, 'the reviewers'),
    granted,
    ...(report === undefined ? auditOf(row) : audited(row, report, change.atMs)),
  };
  // The digest of a row that was tampered with must not become valid.
  const digest = rowDigest(row) === row.digest ? rowDigest({ ...row, ...next }) : row.digest;
  return { ...next, digest };
}

type Audit = Pick<ChangedColumns, 'report' | 'verdict' | 'audited_at_ms' | 'audit_by_ms'>;

function auditOf({ report, verdict, audited_at_ms, audit_by_ms }: VersionRow): Audit {
  return { report, verdict, audited_at_ms, audit_by_ms };
}

function audited(row: VersionRow, report: AuditReport, atMs: number): Audit {
  if (!isReportOf(report, { ...row, verdict: report.verdict }))
    throw new TypeError(`Cannot keep report: it is of other bytes than ${row.id}@${row.version}`);
  const { reauditDays } = skillOf(row).manifest.trust;
  return {
    report: writeKept(report, `the report on "${row.id}"`),
    verdict: report.verdict,
    audited_at_ms: atMs,
    audit_by_ms: reauditDays === null ? null : atMs + reauditDays * DAY_MS,
  };
}

function demandRow(tx: Transaction, { id, version }: SkillRef, doing: Doing): VersionRow {
  const row = tx.get(selectVersion, { id, version });
  if (row !== undefined) return row;
  throw new CodedError('skill/unknown', `Cannot ${ACTS[doing]} ${id}@${version}: it is not installed`);
}

type Doing = SkillState | 'remove';

/** What is done to a skill that goes there, for messages. */
const ACTS: Readonly<Record<Doing, string>> = {
  ingested: 'install',
  audited: 'audit',
  quarantined: 'quarantine',
  approved: 'approve',
  active: 'enable',
  disabled: 'disable',
  failed: 'fail',
  revoked: 'revoke',
  remove: 'remove',
};

function conflict({ id, version }: SkillRef, doing: Doing, is: string): CodedError {
  return new CodedError('skill/conflict', `Cannot ${ACTS[doing]} ${id}@${version}: ${is}`);
}
