import type { Digest } from '../core/digest.ts';
import type { Migration } from '../store/migrate.ts';
import { queries } from '../store/transaction.ts';
import type { AuditVerdict } from './audit/check.ts';
import type { SkillState } from './lifecycle.table.ts';
import type { TrustOrigin } from './trust.ts';

/** What lists show of a version; short columns only. */
export type SummaryRow = {
  /** The order of installation, even if the clock was set back. */
  readonly seq: number;
  readonly id: string;
  readonly version: string;
  readonly publisher: string;
  readonly name: string;
  readonly artifact: Digest;
  readonly key_id: string;
  readonly trust: TrustOrigin;
  readonly state: SkillState;
  readonly tools: number;
  readonly verdict: AuditVerdict | null;
  /** Of the last change; null: none was given. */
  readonly reason: string | null;
  readonly installed_at_ms: number;
  readonly installed_by: string;
  readonly changed_at_ms: number;
  readonly changed_by: string;
  /** A JSON list of principals. */
  readonly approved_by: string;
  readonly audited_at_ms: number | null;
};

export type VersionRow = SummaryRow & {
  /** When its own manifest wants the next audit; null: it says nothing. */
  readonly audit_by_ms: number | null;
  /** Over what the row says will run, so that a partly changed row is detected. */
  readonly digest: Digest;
  /** Canonical JSON. */
  readonly manifest: string;
  readonly granted: string | null;
  readonly report: string | null;
};

type ToolRow = { readonly tool_id: string; readonly seq: number };

/** The highest version that a skill ever had here; it outlives the skill. */
type HighestRow = { readonly id: string; readonly version: string };

/** Bytes that never run again; it outlives the skill. */
type RevokedRow = {
  readonly artifact: Digest;
  readonly id: string;
  readonly version: string;
  readonly at_ms: number;
  readonly by: string;
  readonly reason: string | null;
};

type KeyRow = {
  readonly publisher: string;
  readonly key_id: string;
  readonly public_key: Uint8Array;
  readonly added_at_ms: number;
  readonly added_by: string;
  readonly origin: TrustOrigin;
  readonly expires_at_ms: number | null;
  readonly retired_at_ms: number | null;
  readonly revoked_at_ms: number | null;
  readonly reason: string | null;
};

/** A trap of an active version since its last success; not a part of the index, and so without an epoch. */
export type TrapRow = {
  readonly id: string;
  readonly version: string;
  /** A digest of the tool and its input: the same call again is the same trap. */
  readonly input: string;
  readonly at_ms: number;
  readonly call: string;
  readonly principal: string;
  readonly tenant: string;
  /** The functions that were running, in words. */
  readonly place: string;
};

export type SkillTables = {
  skill_version: VersionRow;
  skill_tool: ToolRow;
  skill_highest: HighestRow;
  skill_revoked: RevokedRow;
  skill_key: KeyRow;
  skill_trap: TrapRow;
  skill_epoch: { readonly id: number; readonly epoch: number };
};

/** A trigger for each kind of change to a table: whatever changes it, the epoch moves on. */
function countChanges(table: string): string {
  return ['INSERT', 'UPDATE', 'DELETE']
    .map(
      (act) => `CREATE TRIGGER ${table}_${act.toLowerCase()} AFTER ${act} ON ${table}
BEGIN UPDATE skill_epoch SET epoch = epoch + 1; END;`,
    )
    .join('\n');
}

const APPROVED_BEFORE = "'approved', 'active', 'disabled'";
const APPROVED = `${APPROVED_BEFORE}, 'failed'`;

/** A time that counts only for what can run or be switched on; an index and its statements spell it alike. */
export function whileApproved(column: 'audited_at_ms' | 'audit_by_ms', states = APPROVED): string {
  return `CASE WHEN state IN (${states}) THEN ${column} END`;
}

/** The table of versions, in which these states are of what was approved. */
function versionTable(approved: string): string {
  return `CREATE TABLE skill_version (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL CHECK (length(id) BETWEEN 3 AND 64),
  version TEXT NOT NULL CHECK (length(version) BETWEEN 5 AND 64),
  publisher TEXT NOT NULL,
  name TEXT NOT NULL,
  artifact TEXT NOT NULL CHECK (length(artifact) = 64),
  key_id TEXT NOT NULL,
  trust TEXT NOT NULL CHECK (trust IN ('operator', 'first-use')),
  state TEXT NOT NULL
    CHECK (state IN ('ingested', 'audited', 'quarantined', ${approved}, 'revoked')),
  tools INTEGER NOT NULL CHECK (tools >= 0),
  verdict TEXT CHECK (verdict IN ('passed', 'failed')),
  reason TEXT,
  installed_at_ms INTEGER NOT NULL,
  installed_by TEXT NOT NULL,
  changed_at_ms INTEGER NOT NULL,
  changed_by TEXT NOT NULL,
  approved_by TEXT NOT NULL CHECK (json_valid(approved_by)),
  audited_at_ms INTEGER,
  audit_by_ms INTEGER,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  manifest TEXT NOT NULL,
  granted TEXT,
  report TEXT,
  UNIQUE (id, version),
  CHECK ((verdict IS NULL) = (report IS NULL) AND (audited_at_ms IS NULL) = (report IS NULL)),
  CHECK (state NOT IN ('ingested') OR report IS NULL),
  CHECK (state NOT IN ('audited', ${approved}) OR report IS NOT NULL),
  CHECK (state NOT IN (${approved})
    OR (granted IS NOT NULL AND verdict = 'passed' AND approved_by <> '[]'))
) STRICT;`;
}

function versionIndexes(approved: string): string {
  return `CREATE UNIQUE INDEX skill_version_active ON skill_version (id) WHERE state = 'active';
CREATE INDEX skill_version_by_id ON skill_version (id, seq);
CREATE INDEX skill_version_by_state ON skill_version (state, id, seq);
CREATE INDEX skill_version_by_key ON skill_version (key_id);
CREATE INDEX skill_version_audited ON skill_version (${whileApproved('audited_at_ms', approved)});
CREATE INDEX skill_version_audit_by ON skill_version (${whileApproved('audit_by_ms', approved)});`;
}

const TOOL_TABLE = `CREATE TABLE skill_tool (
  tool_id TEXT NOT NULL,
  seq INTEGER NOT NULL REFERENCES skill_version (seq) ON DELETE CASCADE,
  PRIMARY KEY (tool_id, seq)
) STRICT, WITHOUT ROWID;`;
const TOOL_INDEX = 'CREATE INDEX skill_tool_by_version ON skill_tool (seq);';

/** The tables of skills. The long columns come last, so that a list never reads them. */
export const skillsMigrations: readonly Migration[] = [
  {
    id: 'skills/001',
    sql: `
${versionTable(APPROVED_BEFORE)}
${versionIndexes(APPROVED_BEFORE)}
${TOOL_TABLE}
${TOOL_INDEX}
CREATE TABLE skill_highest (
  id TEXT PRIMARY KEY,
  version TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE skill_revoked (
  artifact TEXT PRIMARY KEY,
  id TEXT NOT NULL,
  version TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  by TEXT NOT NULL,
  reason TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE skill_key (
  key_id TEXT PRIMARY KEY,
  publisher TEXT NOT NULL,
  public_key BLOB NOT NULL CHECK (length(public_key) = 32),
  added_at_ms INTEGER NOT NULL,
  added_by TEXT NOT NULL,
  origin TEXT NOT NULL CHECK (origin IN ('operator', 'first-use')),
  expires_at_ms INTEGER,
  retired_at_ms INTEGER,
  revoked_at_ms INTEGER,
  reason TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX skill_key_by_publisher ON skill_key (publisher, added_at_ms);
CREATE TABLE skill_epoch (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  epoch INTEGER NOT NULL
) STRICT;
INSERT INTO skill_epoch (id, epoch) VALUES (1, 0);
${['skill_version', 'skill_tool', 'skill_highest', 'skill_revoked', 'skill_key'].map(countChanges).join('\n')}`,
  },
  {
    // A table with another CHECK is another table. The children go first, so that nothing is deleted with their parents.
    id: 'skills/002',
    sql: `
ALTER TABLE skill_tool RENAME TO skill_tool_before;
ALTER TABLE skill_version RENAME TO skill_version_before;
${versionTable(APPROVED)}
${TOOL_TABLE}
INSERT INTO skill_version SELECT * FROM skill_version_before;
INSERT INTO skill_tool SELECT * FROM skill_tool_before;
DELETE FROM sqlite_sequence WHERE name = 'skill_version';
INSERT INTO sqlite_sequence (name, seq)
  SELECT 'skill_version', seq FROM sqlite_sequence WHERE name = 'skill_version_before';
DROP TABLE skill_tool_before;
DROP TABLE skill_version_before;
${versionIndexes(APPROVED)}
${TOOL_INDEX}
${['skill_version', 'skill_tool'].map(countChanges).join('\n')}
UPDATE skill_epoch SET epoch = epoch + 1;
CREATE TABLE skill_trap (
  id TEXT NOT NULL,
  version TEXT NOT NULL,
  input TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  call TEXT NOT NULL,
  principal TEXT NOT NULL,
  tenant TEXT NOT NULL,
  place TEXT NOT NULL,
  PRIMARY KEY (id, version, input)
) STRICT, WITHOUT ROWID;`,
  },
];

/** Makes a statement over the tables of skills. */
export const query = queries<SkillTables>();
