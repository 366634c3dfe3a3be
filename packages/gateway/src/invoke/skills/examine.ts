import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { CodedError } from '../../core/coded-error.ts';
import { inert } from '../../core/hostile-text.ts';
import { SkillTools } from '../../registry/skill-tools.ts';
import { advisoryFile } from '../../skills/advisories.ts';
import { Artifacts } from '../../skills/artifacts.ts';
import { auditPackage, reportOf } from '../../skills/audit/audit.ts';
import type { AuditFinding, AuditReport, CaseCounts } from '../../skills/audit/check.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { openPackage } from '../../skills/package/open-package.ts';
import { PACKAGE_FILES, type SkillPackage } from '../../skills/package/skill-package.ts';
import { RunningSkills } from '../../skills/running.ts';
import type { Gateway, Records, SkillRoom } from '../gateway.ts';
import { auditBench, auditDue, quarantineChanged } from './audit.ts';
import { type CaseResult, runCases } from './run-cases.ts';
import type { Acting } from './skill-acts.ts';

/** An audit as a whole: the checks that only look, then the test cases of the package, run without any capability. */

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

/** Makes the room of skills ready: nothing of any skill is read before somebody calls it. */

export type OpenedSkills = { readonly room: SkillRoom; readonly tools: SkillTools };

export function openSkills(records: Records, { skills }: Config, stateDir: string): OpenedSkills {
  const { firstUse, reviewers, reauditAfterMs, advisories } = skills;
  const room: SkillRoom = {
    artifacts: new Artifacts(join(stateDir, 'skills')),
    running: new RunningSkills(records.store),
    terms: { firstUse, reviewers, reauditAfterMs, advisories: advisoryFile(advisories) },
  };
  const tools = new SkillTools({
    reader: records.store,
    artifacts: room.artifacts,
    clock: records.clock,
    onMisfit: (skill, why) => quarantineChanged({ ...records, skills: room }, skill, { why, acting: null }),
  });
  return { room, tools };
}

const AUDIT_LOOK_MS = 60_000;

/** A gateway that lasts looks every minute for skills whose audit is too old; gives the way to stop that. */
export function auditOnSchedule(gateway: Gateway): () => Promise<void> {
  const stop = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    // What cannot be audited now is audited a minute later; what runs meanwhile was audited before.
    last = last.then(() => auditDue(gateway, stop.signal)).catch(() => undefined);
  }, AUDIT_LOOK_MS).unref();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await last;
  };
}

/** The package of an installed skill, read from the disk and compared to the byte; throws `skill/changed` for any other. */
export async function storedPackage(
  { skills }: Pick<Gateway, 'skills'>,
  { id, version, artifact }: Pick<InstalledSkill, 'id' | 'version' | 'artifact'>,
): Promise<SkillPackage> {
  const pkg = await openPackage(skills.artifacts.read(artifact));
  const { manifest } = pkg;
  // Boundary: a row that names the bytes of another skill is no way to run them.
  if (manifest.id === id && manifest.version === version) return pkg;
  throw new CodedError(
    'skill/changed',
    `Cannot use ${id}@${version}: its package is that of ${manifest.id}@${manifest.version}`,
  );
}

/** What a package says to whoever reads it. */
export function proseOf({ entries }: SkillPackage): string {
  return Buffer.from(entries.get(PACKAGE_FILES.prose) ?? new Uint8Array(0)).toString('utf8');
}
