import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { requireSkill } from '../../../invoke/skills/skill-acts.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { askedAndGranted, signerState } from '../../../operations/skill-document.ts';
import { type Narrowing, narrowGrant, type SkillGrant } from '../../../skills/grant.ts';
import type { InstalledSkill } from '../../../skills/index/skill.ts';
import { nextState } from '../../../skills/lifecycle.ts';
import type { ManifestTool } from '../../../skills/manifest/manifest.ts';
import { confirm, type Question, requireAnswerable } from '../ask.ts';
import { listOf, pairsOf, textOf, wrongUsage } from '../input.ts';
import { actAs } from '../opened.ts';
import { operate, operateOn } from '../operate.ts';
import type { Printer } from '../printer.ts';
import { limitsOf, timeOf } from '../quantities.ts';
import { parseReference, readPackageFile } from '../skill/package-file.ts';
import {
  findingsOf,
  printAsks,
  printDifference,
  printFindings,
  riskWith,
  signerOf,
  summaryOfReport,
} from '../skill/print-skill.ts';
import type { Invocation } from '../verb.ts';

const MOST_WITHHELD = 256;

type Installed = ResultOf<'installSkill'>;

/** Installs a package. Whatever it contains, it ends in quarantine. */
export async function install(invocation: Invocation): Promise<number> {
  const { args, print, flags } = invocation;
  const bytes = await readPackageFile(invocation, args[0] ?? '');
  if (!print.json)
    print.note('installing', 'dim', `  ${bytes.length} bytes; auditing it and running its test cases`);
  const input = { package: bytes, allowDowngrade: flags['allow-downgrade'] === true };
  const installed = await operate(invocation, 'installSkill', input);
  return print.result(installed, () => printInstalled(print, installed));
}

function printInstalled(print: Printer, { skill, difference, isNew }: Installed): void {
  const { id, version, name, state, reason, report, artifact } = skill;
  print.styled('bold', `${id}@${version}`, `  ${state}`);
  print.line(`name       ${name}`);
  print.line(`publisher  ${signerOf(skill)}`);
  print.line(`sha256     ${artifact}`);
  print.line(`state      ${state}${reason === null ? '' : `: ${reason}`}`);
  print.line(`audit      ${report === null ? 'not yet' : summaryOfReport(report)}`);
  // Notes of the audit are shown with the whole report, by `skill audit`.
  if (report !== null)
    printFindings(print, { findings: [...findingsOf(report, 'refusal'), ...findingsOf(report, 'warning')] });
  if (difference !== null) {
    print.line();
    print.styled('bold', 'Compared with the active version');
    printDifference(print, difference);
  }
  if (!isNew) print.note('already installed', 'yellow', '  nothing has changed');
  else print.note('installed', 'green', `  ${id}@${version}; it does not run before it is approved`);
  if (state !== 'quarantined') return;
  const [first, then] = report?.verdict === 'failed' ? ['audit', 'remove'] : ['show', 'approve'];
  print.next(`palisade skill ${first} ${id}@${version}   then   palisade skill ${then} ${id}@${version}`);
}

/** Approves one version with one grant, after all that is granted was shown. */
export async function approve(invocation: Invocation): Promise<number> {
  const { args, print, flags } = invocation;
  const named = parseReference(args[0] ?? '');
  const narrowing = narrowingOf(invocation);
  requireAnswerable(invocation, approvalQuestion(named.id, 0));
  return actAs(invocation, async (gateway) => {
    // What would be granted is shown before it is approved, so it is read here.
    const skill = requireSkill(gateway.store, { ...named, version: named.version ?? null }, ['quarantined']);
    const { id, version, artifact } = skill;
    nextState(skill.state, 'approve', skill);
    const warnings = requirePassed(skill);
    const grant = narrowGrant(skill.manifest, narrowing);
    const keyState = signerState(gateway.store, skill, gateway.clock.nowMs());
    printOffer(print, skill, grant, signerOf({ ...skill, keyState }));
    await confirm(invocation, approvalQuestion(id, warnings));
    const approved = await operateOn(invocation, gateway, 'approveSkill', {
      ...narrowing,
      id,
      version,
      reason: textOf(invocation, 'reason'),
      // The caller typed the id below the warnings, or gave --accept-findings.
      acceptFindings: warnings > 0,
      enable: flags['no-enable'] !== true,
      asShown: { artifact, changedAt: isoTime(skill.changedAtMs) },
    });
    return print.result(approved, () => printApproved(print, approved));
  });
}

/** No one is asked about a skill that cannot be approved. Gives the number of warnings to accept. */
function requirePassed({ id, version, report }: InstalledSkill): number {
  if (report?.verdict === 'passed') return findingsOf(report, 'warning').length;
  const is = report === null ? 'it was not audited' : `its audit ${summaryOfReport(report)}`;
  const message = `Cannot approve ${id}@${version}: ${is}, expected an audit that passed`;
  throw new CodedError('skill/audit-failed', message);
}

function approvalQuestion(id: string, warnings: number): Question {
  const despite = warnings === 0 ? '' : ` with its ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`;
  return {
    act: 'approve the skill',
    question: `Type the id of the skill to approve it${despite}`,
    answer: id,
    needs: warnings === 0 ? ['yes', 'reason'] : ['yes', 'reason', 'accept-findings'],
  };
}

function printOffer(print: Printer, skill: InstalledSkill, grant: SkillGrant, signer: string): void {
  const { id, version, name, artifact, manifest, report } = skill;
  print.styled('bold', `${id}@${version}`, `  ${name}`);
  print.line(`sha256     ${artifact}`);
  print.line(`signed by  ${signer}`);
  print.line(`audit      ${report === null ? 'not yet' : summaryOfReport(report)}`);
  print.line(`tools      ${manifest.tools.map((tool) => toolWithRisk(tool, grant)).join(', ')}`);
  if (report !== null) printFindings(print, { findings: findingsOf(report, 'warning') });
  print.line();
  print.styled('bold', 'What it requests, and what of it will be granted');
  printAsks(print, { capabilities: askedAndGranted(manifest, grant), quotas: manifest.quotas, grant });
  print.line();
}

function toolWithRisk({ id, risk }: ManifestTool, grant: SkillGrant): string {
  const now = riskWith(risk, grant);
  return `${id} (risk ${now}${now === risk ? '' : ` because of the grant; its manifest says ${risk}`})`;
}

function printApproved(print: Printer, approved: ResultOf<'approveSkill'>): void {
  const { id, version, state, approvedBy, reviewersMissing } = approved;
  if (reviewersMissing > 0) {
    const more = reviewersMissing === 1 ? 'one more reviewer' : `${reviewersMissing} more reviewers`;
    print.note('agreed', 'yellow', `  ${id}@${version} waits for ${more}; so far ${approvedBy.join(', ')}`);
    print.next(`each approves the same grant: palisade skill approve ${id}@${version} --as user:NAME`);
    return;
  }
  print.note('approved', 'green', `  ${id}@${version} by ${approvedBy.join(', ')}; it is ${state}`);
  print.next(state === 'active' ? 'palisade tools list' : `palisade skill enable ${id}@${version}`);
}

/** What the flags of an approval withhold, and the values that they give; whether they fit is for the grant to check. */
export function narrowingOf(invocation: Invocation): Narrowing {
  const withhold = listOf(invocation, 'withhold');
  if (withhold.length > MOST_WITHHELD)
    throw wrongUsage(
      `Cannot use --withhold ${withhold.length} times: expected at most ${MOST_WITHHELD} times`,
    );
  const wallMs = timeOf(invocation, 'timeout');
  const limits = { ...limitsOf(invocation), ...(wallMs === undefined ? {} : { wallMs }) };
  return { withhold, limits, config: pairsOf(invocation, 'config', 'KEY=VALUE') };
}
