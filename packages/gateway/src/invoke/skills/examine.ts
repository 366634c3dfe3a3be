/** An audit as a whole: the checks that only look, then the test cases of the package, run without any capability. */

import { auditPackage, reportOf } from '../../skills/audit/audit.ts';
import type { AuditFinding, AuditReport, CaseCounts } from '../../skills/audit/report.ts';
import type { SkillPackage } from '../../skills/package/skill-package.ts';
import type { Gateway } from '../gateway.ts';
import { auditBench } from './audit-bench.ts';
import { type CaseResult, runCases } from './run-cases.ts';
import type { Acting } from './skill-acts.ts';

/** Null: the cases are not run. */
export type CaseRun = (Acting & { readonly signal: AbortSignal }) | null;

export async function examine(gateway: Gateway, pkg: SkillPackage, cases: CaseRun): Promise<AuditReport> {
  const looked = auditPackage(pkg, await auditBench(gateway, pkg));
  const palisade = gateway.version;
  const isRefused = looked.some(({ severity }) => severity === 'refusal');
  // What must not run is not run to see how it does.
  if (cases === null || isRefused) return reportOf(pkg, looked, { cases: null, palisade });
  const results = await runCases(gateway, { ...cases, pkg, withCapabilities: false });
  return reportOf(pkg, [...looked, ...findingsOf(results)], { cases: countsOf(results), palisade });
}

function findingsOf(results: readonly CaseResult[]): readonly AuditFinding[] {
  return results.flatMap(({ case: tried, verdict, why, callId }) => {
    if (verdict === 'not-run' && callId !== null) return [notRun(tried, why)];
    if (verdict !== 'failed') return [];
    return [
      {
        id: 'cases/failed',
        severity: 'refusal',
        where: tried.file,
        sentence: `The case "${tried.name}" of ${tried.tool} did not end as it should: ${why}.`,
        remedy: 'Do not use this version; its author sees the same with `palisade skill test`.',
      },
    ];
  });
}

/** It was tried, and the policies or budgets of whoever audits were in the way: nobody knows how it would have ended. */
function notRun({ file, name }: CaseResult['case'], why: string | null): AuditFinding {
  return {
    id: 'cases/not-run',
    severity: 'warning',
    where: file,
    sentence: `The case "${name}" could not be run: ${why}.`,
    remedy: 'Audit it as somebody whom the policies let call tools of the category "skill-test".',
  };
}

export function countsOf(results: readonly CaseResult[]): CaseCounts {
  const count = (wanted: CaseResult['verdict']) => results.filter(({ verdict }) => verdict === wanted).length;
  return { passed: count('passed'), failed: count('failed'), notRun: count('not-run') };
}
