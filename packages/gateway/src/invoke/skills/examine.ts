/** An audit as a whole: the checks that only look, then the test cases of the package, run without any capability. */

import { inert } from '../../core/hostile-text.ts';
import { auditPackage, reportOf } from '../../skills/audit/audit.ts';
import type { AuditFinding, AuditReport, CaseCounts } from '../../skills/audit/report.ts';
import type { SkillPackage } from '../../skills/package/skill-package.ts';
import type { Gateway } from '../gateway.ts';
import { auditBench } from './audit-bench.ts';
import { type CaseResult, runCases } from './run-cases.ts';
import type { Acting } from './skill-acts.ts';

/** Boundary: how long all cases of a package may hold whoever audits it; what has not begun by then is not run. */
const MOST_CASES_MS = 120_000;
/** Cases that are told one by one. */
const MOST_FINDINGS = 20;
const LONGEST_TEXT = 600;

/** Null: the cases are not run. */
export type CaseRun = (Acting & { readonly signal: AbortSignal }) | null;

export async function examine(gateway: Gateway, pkg: SkillPackage, cases: CaseRun): Promise<AuditReport> {
  const looked = auditPackage(pkg, await auditBench(gateway, pkg));
  const palisade = gateway.version;
  const isRefused = looked.some(({ severity }) => severity === 'refusal');
  // What must not run is not run to see how it does.
  if (cases === null || isRefused) return reportOf(pkg, looked, { cases: null, palisade });
  const results = await runCases(gateway, { ...cases, pkg, withCapabilities: false, mostMs: MOST_CASES_MS });
  return reportOf(pkg, [...looked, ...findingsOf(results)], { cases: countsOf(results), palisade });
}

function findingsOf(results: readonly CaseResult[]): readonly AuditFinding[] {
  const told = (verdict: CaseResult['verdict'], tell: (result: CaseResult) => AuditFinding) =>
    results
      .filter((each) => each.verdict === verdict && (verdict === 'failed' || each.case.needs.length === 0))
      .slice(0, MOST_FINDINGS)
      .map(tell);
  return [...told('failed', failed), ...told('not-run', notRun)];
}

function failed({ case: tried, why }: CaseResult): AuditFinding {
  return {
    id: 'cases/failed',
    severity: 'refusal',
    where: tried.file,
    sentence: harmless(`The case "${tried.name}" of ${tried.tool} did not end as it should: ${why}.`),
    remedy: 'Do not use this version; its author sees the same with `palisade skill test`.',
  };
}

/** It needs nothing, and something of whoever audits was in the way: nobody knows how it would have ended. */
function notRun({ case: { file, name }, why }: CaseResult): AuditFinding {
  return {
    id: 'cases/not-run',
    severity: 'warning',
    where: file,
    sentence: harmless(`The case "${name}" could not be run: ${why}.`),
    remedy: 'Audit it as somebody whom the policies let call tools of the category "skill-test".',
  };
}

/** Boundary: names of cases and messages of guests are shown by terminals and pages. */
function harmless(text: string): string {
  return inert(text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text);
}

export function countsOf(results: readonly CaseResult[]): CaseCounts {
  const count = (wanted: CaseResult['verdict']) => results.filter(({ verdict }) => verdict === wanted).length;
  return { passed: count('passed'), failed: count('failed'), notRun: count('not-run') };
}
