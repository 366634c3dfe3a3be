import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CODES } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import type { Gateway } from '../../../invoke/gateway.ts';
import { auditSkill } from '../../../invoke/skills/audit.ts';
import { examine } from '../../../invoke/skills/examine.ts';
import type { Acting } from '../../../invoke/skills/skill-acts.ts';
import { auditDocument, factsOf } from '../../../operations/skill-document.ts';
import type { AuditReport } from '../../../skills/audit/check.ts';
import { dueForAudit, versionsOf } from '../../../skills/index/read.ts';
import type { InstalledSkill } from '../../../skills/index/skill.ts';
import { wrongUsage } from '../input.ts';
import { actAs } from '../opened.ts';
import { openPackageFile, parseReference } from '../skill/package-file.ts';
import { printReportOf, summaryOfReport } from '../skill/print-skill.ts';
import type { Invocation } from '../verb.ts';

const FAILED = CODES['skill/audit-failed'].exitStatus;
/** One command audits no more; the rest stays due. */
const MOST_DUE = 100;

/** Audits an installed skill, a package that is not installed, or every skill whose audit is due. */
export async function audit(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  const [named] = args;
  if ((named === undefined) !== (flags.due === true))
    throw wrongUsage(
      `Cannot audit: ${named === undefined ? 'no skill is named' : `"${named}" is named together with --due`}, expected a skill, a package or --due`,
    );
  if (named === undefined) return auditAllDue(invocation);
  return isFile(invocation, named) ? auditFile(invocation, named) : auditInstalled(invocation, named);
}

/** An id has a dot and no slash; an id that ends in .skill is one only where no such file exists. */
function isFile({ edge }: Invocation, named: string): boolean {
  if (named === '-' || named.includes('/')) return true;
  return (named.endsWith('.skill') || !named.includes('.')) && existsSync(resolve(edge.cwd, named));
}

async function auditInstalled(invocation: Invocation, raw: string): Promise<number> {
  const { print } = invocation;
  const named = parseReference(raw);
  return actAs(invocation, async (gateway, acting) => {
    if (raw.endsWith('.skill') && versionsOf(gateway.store, named.id).length === 0) throw neither(raw);
    const skill = await auditSkill(gateway, { ...acting, ...named, ...howOf(invocation) });
    const { report } = skill;
    if (report === null) throw new TypeError(`Cannot show the audit of ${skill.id}: it has no report`);
    print.result(auditDocument(skill), () => {
      printReportOf(print, report);
      noteState(invocation, skill);
    });
    return statusOf(report);
  });
}

function neither(raw: string): CodedError {
  const message = `Cannot audit "${raw}": neither a file nor a skill has that name`;
  return new CodedError('skill/unknown', message);
}

/** Inspected only: what is not installed is not run. */
async function auditFile(invocation: Invocation, path: string): Promise<number> {
  const { print } = invocation;
  const pkg = await openPackageFile(invocation, path);
  return actAs(invocation, async (gateway) => {
    const report = await examine(gateway, pkg, null);
    print.result({ ...report, state: null, reason: null }, () => {
      printReportOf(print, report);
      print.next('nothing was run or stored; to run its test cases: palisade skill install');
    });
    return statusOf(report);
  });
}

async function auditAllDue(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  return actAs(invocation, async (gateway, acting) => {
    const nowMs = gateway.clock.nowMs();
    const beforeMs = nowMs - gateway.skills.terms.reauditAfterMs;
    const due = dueForAudit(gateway.store, { beforeMs, nowMs, limit: MOST_DUE });
    const results: DueResult[] = [];
    for (const named of due) {
      if (!print.json) print.note('auditing', 'dim', `  ${named.id}@${named.version}`);
      results.push(await auditOne(gateway, acting, { ...named, ...howOf(invocation) }));
    }
    print.result({ audited: results }, () => {
      if (results.length === 0) print.line('No audit is due.');
      else print.table(['SKILL', 'STATE', 'AUDIT'], results.map(dueRow));
    });
    if (due.length === MOST_DUE) print.note('More audits may be due: run the command again.');
    return results.every(({ verdict }) => verdict === 'passed') ? 0 : FAILED;
  });
}

type DueResult = {
  readonly skill: string;
  readonly verdict: AuditReport['verdict'];
  readonly state: string;
  readonly summary: string;
};
type One = { readonly id: string; readonly version: string } & ReturnType<typeof howOf>;

/** A skill that cannot be audited does not keep the others from their audit. */
async function auditOne(gateway: Gateway, acting: Acting, one: One): Promise<DueResult> {
  const skill = `${one.id}@${one.version}`;
  try {
    const { report, state } = await auditSkill(gateway, { ...acting, ...one });
    const verdict = report?.verdict ?? 'failed';
    return { skill, verdict, state, summary: report === null ? verdict : summaryOfReport(report) };
  } catch (error) {
    if (!(error instanceof CodedError) || !error.code.startsWith('skill/')) throw error;
    return { skill, verdict: 'failed', state: 'unknown', summary: error.message };
  }
}

function dueRow({ skill, state, summary }: DueResult): readonly string[] {
  return [skill, state, summary];
}

function howOf({ flags, signal }: Invocation) {
  return { withCases: flags['no-tests'] !== true, signal };
}

function noteState({ print }: Invocation, skill: InstalledSkill): void {
  const { id, version, state, reason } = factsOf(skill);
  print.next(`${id}@${version} is ${state}${reason === null ? '' : `: ${reason}`}`);
}

function statusOf({ verdict }: AuditReport): number {
  return verdict === 'passed' ? 0 : FAILED;
}
