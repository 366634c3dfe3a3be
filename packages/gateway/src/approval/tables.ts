import type { Risk } from '../core/tool.ts';
import type { Migration } from '../store/migrate.ts';

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'used';

export type ApprovalRow = {
  id: string;
  digest: string;
  tenant: string;
  principal: string;
  tool: string;
  /** Empty once it is no longer needed. */
  input_json: string;
  input_digest: string;
  tool_digest: string;
  policy_set: string;
  /** A JSON list of policy ids. */
  decided_by_policies: string;
  risk: Risk;
  asked_at_ms: number;
  expires_at_ms: number;
  state: ApprovalState;
  decided_by: string | null;
  decided_at_ms: number | null;
  note: string | null;
  used_by_call: string | null;
  /** JSON of a tool that lives no longer than its call; empty for one that every gateway has. */
  tool_json: string;
};

/** `seq` is the order of asking, whatever the clock did meanwhile. */
export type ApprovalTables = { approval: ApprovalRow & { seq: number } };

/** The table of this room. */
export const approvalMigrations: readonly Migration[] = [
  {
    id: 'approval/001',
    sql: `
CREATE TABLE approval (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL,
  tenant TEXT NOT NULL,
  principal TEXT NOT NULL,
  tool TEXT NOT NULL,
  input_json TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  tool_digest TEXT NOT NULL,
  policy_set TEXT NOT NULL,
  decided_by_policies TEXT NOT NULL CHECK (json_valid(decided_by_policies)),
  risk TEXT NOT NULL,
  asked_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used')),
  decided_by TEXT CHECK ((decided_by IS NULL) = (state = 'pending')),
  decided_at_ms INTEGER CHECK ((decided_at_ms IS NULL) = (state = 'pending')),
  note TEXT,
  used_by_call TEXT CHECK ((used_by_call IS NOT NULL) = (state = 'used'))
) STRICT;
CREATE INDEX approval_by_digest ON approval (digest, seq);
CREATE INDEX approval_by_state ON approval (state, seq);`,
  },
  {
    id: 'approval/002',
    sql: `
CREATE INDEX approval_by_asker ON approval (tenant, principal, state, expires_at_ms);
CREATE INDEX approval_by_expiry ON approval (expires_at_ms);
CREATE INDEX approval_with_input ON approval (expires_at_ms) WHERE input_json <> '';`,
  },
  {
    id: 'approval/003',
    sql: `ALTER TABLE approval ADD COLUMN tool_json TEXT NOT NULL DEFAULT '';`,
  },
];
