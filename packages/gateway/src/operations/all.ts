import { approvalOperations } from './approvals.ts';
import { budgetOperations } from './budgets.ts';
import { callOperations } from './calls.ts';
import { doctorOperations } from './doctor.ts';
import { identityOperations } from './identity.ts';
import { journalOperations } from './journal.ts';
import { keyOperations } from './keys.ts';
import type { Operation } from './operation.ts';
import { policyOperations } from './policies.ts';
import { secretOperations } from './secrets.ts';
import { skillOperations } from './skills.ts';
import { toolOperations } from './tools.ts';
import { trustOperations } from './trust.ts';
import { upstreamOperations } from './upstreams.ts';

/** Every operation, in the order in which they are documented. A process that runs only one of them uses operate.ts. */
export const OPERATIONS: readonly Operation[] = [
  ...callOperations,
  ...toolOperations,
  ...approvalOperations,
  ...budgetOperations,
  ...skillOperations,
  ...trustOperations,
  ...policyOperations,
  ...secretOperations,
  ...journalOperations,
  ...upstreamOperations,
  ...keyOperations,
  ...identityOperations,
  ...doctorOperations,
];
