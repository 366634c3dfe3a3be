import { inert } from '../../core/hostile-text.ts';
import { AUDIT_LIMITS } from '../limits.ts';
import type { SkillPackage } from '../package/skill-package.ts';
import type {
  AuditBench,
  AuditCheck,
  AuditFinding,
  AuditReport,
  AuditSeverity,
  AuditSubject,
} from './check.ts';
import { BOM_CHECKS } from './checks/bom.table.ts';
import { MANIFEST_CHECKS } from './checks/manifest.table.ts';
import { SKILL_MODULE_CHECKS } from './checks/modules.table.ts';
import { PACKAGE_CHECKS } from './checks/package.table.ts';
import { PROSE_CHECKS } from './checks/prose.table.ts';
import { SCHEMA_CHECKS } from './checks/schemas.table.ts';
import { moduleSubjects } from './module/module-subject.ts';
import { materialOf } from './prose/material.ts';

/*
 * The audit of a package. Takes a package with a valid archive and signature but untrusted contents; returns findings.
 * Everything is read once into a subject, every row of the table looks at it, and nothing is run, compiled, written or
 * requested from elsewhere: the same package gives the same findings on every machine with the same bench. What is
 * found can only keep a skill out or make a person look; an audit that finds nothing approves nothing.
 */

const WEIGHT: Readonly<Record<AuditSeverity, number>> = { refusal: 0, warning: 1, note: 2 };

/** Reads a package once, for all checks. */
export function subjectOf(pkg: SkillPackage, bench: AuditBench): AuditSubject {
  return { pkg, bench, modules: moduleSubjects(pkg, bench), texts: materialOf(pkg) };
}

/** Examines everything in a package that can be examined without running it; refusals come first. */
export function auditPackage(pkg: SkillPackage, bench: AuditBench): readonly AuditFinding[] {
  return findingsIn(subjectOf(pkg, bench));
}

/** The same for a package that was read. */
export function findingsIn(subject: AuditSubject): readonly AuditFinding[] {
  return CHECKS.flatMap((check) => findingsOf(check, subject)).sort(
    (a, b) => WEIGHT[a.severity] - WEIGHT[b.severity],
  );
}

function findingsOf(check: AuditCheck, subject: AuditSubject): readonly AuditFinding[] {
  const { id, severity } = check;
  const findings: AuditFinding[] = [];
  let more = 0;
  for (const { where, what, remedy = check.remedy ?? '' } of check.look(subject)) {
    const shown = { where: harmless(where), sentence: harmless(what), remedy: harmless(remedy) };
    if (findings.length === AUDIT_LIMITS.findingsPerCheck) more += 1;
    else findings.push({ id, severity, ...shown });
  }
  const last = findings.at(-1);
  if (more === 0 || last === undefined) return findings;
  return [
    ...findings.slice(0, -1),
    { ...last, sentence: `${last.sentence} There are ${more} more findings of this check.` },
  ];
}

/** A text of a finding, truncated and sanitised. */
export function harmless(text: string): string {
  // Boundary: findings quote text of the package, and a terminal or a page shows them.
  const { textChars } = AUDIT_LIMITS;
  return inert(text.length > textChars ? `${text.slice(0, textChars)}…` : text);
}

/** The report of an audit: it failed if anything is refused. */
export function reportOf(
  { manifest, artifact }: SkillPackage,
  findings: readonly AuditFinding[],
  more: Pick<AuditReport, 'cases' | 'palisade' | 'modules'>,
): AuditReport {
  return {
    format: 1,
    skill: manifest.id,
    version: manifest.version,
    artifact,
    verdict: findings.some(({ severity }) => severity === 'refusal') ? 'failed' : 'passed',
    findings,
    checks: CHECKS.length,
    ...more,
  };
}

/** All that an audit looks for, in the order of its reports. */
export const CHECKS: readonly AuditCheck[] = [
  ...PACKAGE_CHECKS,
  ...BOM_CHECKS,
  ...MANIFEST_CHECKS,
  ...SKILL_MODULE_CHECKS,
  ...SCHEMA_CHECKS,
  ...PROSE_CHECKS,
];
