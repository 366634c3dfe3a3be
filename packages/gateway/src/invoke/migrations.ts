import { approvalMigrations } from '../approval/approval.ts';
import { budgetMigrations } from '../budget/rule.ts';
import { identityMigrations } from '../identity/tokens.ts';
import { journalMigrations } from '../journal/head.ts';
import { ociMigrations } from '../oci/pins.ts';
import { packageMigrations } from '../packages/pins.ts';
import { policyMigrations } from '../policy/memory.ts';
import { recordingMigrations } from '../recordings/recordings.ts';
import { resultMigrations } from '../results/keys.ts';
import { sessionMigrations } from '../sessions/tables.ts';
import { skillsMigrations } from '../skills/tables.ts';
import { storageMigrations } from '../storage/tables.ts';
import { upstreamMigrations } from '../upstreams/pins.ts';
import { vaultMigrations } from '../vault/tables.ts';

export const MIGRATIONS = [
  ...journalMigrations,
  ...policyMigrations,
  ...budgetMigrations,
  ...approvalMigrations,
  ...vaultMigrations,
  ...storageMigrations,
  ...recordingMigrations,
  ...skillsMigrations,
  ...identityMigrations,
  ...resultMigrations,
  ...upstreamMigrations,
  ...packageMigrations,
  ...sessionMigrations,
  ...ociMigrations,
];
