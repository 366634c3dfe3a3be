import type { AuditCheck } from './check.ts';
import { BOM_CHECKS } from './checks/bom.table.ts';
import { MANIFEST_CHECKS } from './checks/manifest.table.ts';
import { SKILL_MODULE_CHECKS } from './checks/modules.table.ts';
import { PACKAGE_CHECKS } from './checks/package.table.ts';
import { PROSE_CHECKS } from './checks/prose.table.ts';
import { SCHEMA_CHECKS } from './checks/schemas.table.ts';

/** All that an audit looks for, in the order of its reports. */
export const CHECKS: readonly AuditCheck[] = [
  ...PACKAGE_CHECKS,
  ...BOM_CHECKS,
  ...MANIFEST_CHECKS,
  ...SKILL_MODULE_CHECKS,
  ...SCHEMA_CHECKS,
  ...PROSE_CHECKS,
];
