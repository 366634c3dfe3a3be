import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CODES } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { examine } from '../../../invoke/skills/examine.ts';
import type { AuditReport } from '../../../skills/audit/check.ts';
import { dueForAudit, versionsOf } from '../../../skills/index/read.ts';
import type { SkillRef } from '../../../skills/lifecycle.ts';
import { wrongUsage } from '../input.ts';
import { actAs } from '../opened.ts';
import { operateOn } from '../operate.ts';
import { openNamedPackage, parseReference } from '../skill/package-file.ts';
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
  return actAs(invocation, async (gateway) => {
    if (raw.endsWith('.skill') && versionsOf(gateway.store, named.id).length === 0) {
      const message = `Cannot audit "${raw}": neither a file nor a skill has that name`;
      throw new CodedError('skill/unknown', message);
    }
    const audited = await operateOn(invocation, gateway, 'auditSkill', { ...named, ...howOf(invocation) });
    const { skill, version, state, reason } = audited;
    print.result(audited, () => {
      printReportOf(print, audited);
      print.next(`${skill}@${version} is ${state}${reason === null ? '' : `: ${reason}`}`);
    });
    return statusOf(audited);
  });
}

/** Inspected only: what is not installed is not run. It is a file of the caller, so no operation takes it. */
async function auditFile(invocation: Invocation, path: string): Promise<number> {
  const { print } = invocation;
  const { pkg } = await openNamedPackage(invocation, path);
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
  return actAs(invocation, async (gateway) => {
    const nowMs = gateway.clock.nowMs();
    const beforeMs = nowMs - gateway.skills.terms.reauditAfterMs;
    const due = dueForAudit(gateway.store, { beforeMs, nowMs, limit: MOST_DUE });
    const results: Awaited<ReturnType<typeof auditOne>>[] = [];
    for (const named of due) {
      if (!print.json) print.note('auditing', 'dim', `  ${named.id}@${named.version}`);
      results.push(await auditOne(invocation, gateway, named));
    }
    print.result({ audited: results }, () => {
      const rows = results.map(({ skill, state, summary }) => [skill, state, summary]);
      print.table(['SKILL', 'STATE', 'AUDIT'], rows, 'No audit is due.');
    });
    if (due.length === MOST_DUE) print.note('More audits may be due: run the command again.');
    return results.every(({ verdict }) => verdict === 'passed') ? 0 : FAILED;
  });
}

/** A skill that cannot be audited does not keep the others from their audit. */
async function auditOne(invocation: Invocation, gateway: Opened<Gateway>, named: SkillRef) {
  const { id, version } = named;
  const skill = `${id}@${version}`;
  try {
    const input = { id, version, ...howOf(invocation) };
    const audited = await operateOn(invocation, gateway, 'auditSkill', input);
    return { skill, verdict: audited.verdict, state: audited.state, summary: summaryOfReport(audited) };
  } catch (error) {
    if (!(error instanceof CodedError) || !error.code.startsWith('skill/')) throw error;
    return { skill, verdict: 'failed', state: 'unknown', summary: error.message };
  }
}

function howOf({ flags }: Invocation) {
  return { withCases: flags['no-tests'] !== true };
}

function statusOf({ verdict }: Pick<AuditReport, 'verdict'>): number {
  return verdict === 'passed' ? 0 : FAILED;
}
