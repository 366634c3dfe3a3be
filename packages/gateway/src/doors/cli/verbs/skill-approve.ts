import { CodedError } from '../../../core/coded-error.ts';
import { type Approved, approveSkill } from '../../../invoke/skills/approve.ts';
import { requireSkill } from '../../../invoke/skills/skill-acts.ts';
import { narrowGrant, type SkillGrant } from '../../../skills/grant.ts';
import type { InstalledSkill } from '../../../skills/index/skill.ts';
import { nextState } from '../../../skills/lifecycle.ts';
import type { ManifestTool } from '../../../skills/manifest/manifest.ts';
import { skillDocument } from '../../documents/skills.ts';
import { textOf } from '../input.ts';
import type { Printer } from '../printer.ts';
import { withGateway } from '../skill/operate/act.ts';
import { confirm, type Question, requireAnswerable } from '../skill/operate/confirm.ts';
import { narrowingOf } from '../skill/operate/narrowing.ts';
import { printAsks } from '../skill/operate/print-asks.ts';
import { findingsOf, printFindings, summaryOfReport } from '../skill/operate/print-report.ts';
import { parseReference } from '../skill/operate/reference.ts';
import { riskWith } from '../skill/operate/risk-with.ts';
import { signerNow } from '../skill/operate/trust-now.ts';
import type { Invocation } from '../verb.ts';

/** Approves one version with one grant, with all that is granted in front of whoever is asked. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print, flags } = invocation;
  const named = parseReference(args[0] ?? '');
  const narrowing = narrowingOf(invocation);
  requireAnswerable(invocation, questionOf(named.id, 0));
  return withGateway(invocation, async (gateway, acting) => {
    const skill = requireSkill(gateway.store, named, ['quarantined']);
    const { id, version } = skill;
    nextState(skill.state, 'approve', skill);
    const warnings = requirePassed(skill);
    const grant = narrowGrant(skill.manifest, narrowing);
    const signer = signerNow(gateway.store, skill, invocation.edge.clock.nowMs());
    show(print, { skill, grant, signer });
    await confirm(invocation, questionOf(id, warnings));
    const approved = await approveSkill(gateway, {
      ...{ ...acting, ...narrowing, id, version },
      reason: textOf(invocation, 'reason') ?? null,
      // Whoever got here has typed the id below the warnings, or said that they are accepted.
      acceptFindings: warnings > 0,
      enable: flags['no-enable'] !== true,
      asShown: skill,
    });
    tell(print, approved);
    return 0;
  });
}

/** Nobody is asked about what cannot be approved. Gives how many warnings there are to accept. */
function requirePassed({ id, version, report }: InstalledSkill): number {
  if (report?.verdict === 'passed') return findingsOf(report, 'warning').length;
  const is = report === null ? 'it was not audited' : `its audit ${summaryOfReport(report)}`;
  throw new CodedError(
    'skill/audit-failed',
    `Cannot approve ${id}@${version}: ${is}, expected one that passed`,
  );
}

function questionOf(id: string, warnings: number): Question {
  const despite = warnings === 0 ? '' : ` with its ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`;
  return {
    act: 'approve the skill',
    question: `Type the id of the skill to approve it${despite}`,
    answer: id,
    needs: warnings === 0 ? ['yes', 'reason'] : ['yes', 'reason', 'accept-findings'],
  };
}

type Shown = { readonly skill: InstalledSkill; readonly grant: SkillGrant; readonly signer: string };

function show(print: Printer, { skill, grant, signer }: Shown): void {
  const { id, version, name, artifact, manifest, report } = skill;
  print.styled('bold', `${id}@${version}`, `  ${name}`);
  print.line(`sha256     ${artifact}`);
  print.line(`signed by  ${signer}`);
  print.line(`audit      ${report === null ? 'not yet' : summaryOfReport(report)}`);
  print.line(`tools      ${manifest.tools.map((tool) => toolWith(tool, grant)).join(', ')}`);
  if (report !== null) printFindings(print, { findings: findingsOf(report, 'warning') });
  print.line();
  print.styled('bold', 'What it asks for, and what of it will be granted');
  printAsks(print, manifest, grant);
  print.line();
}

function toolWith({ id, risk }: ManifestTool, grant: SkillGrant): string {
  const now = riskWith(risk, grant);
  return `${id} (risk ${now}${now === risk ? '' : `, for what is granted; it says ${risk}`})`;
}

function tell(print: Printer, { skill, reviewersMissing }: Approved): void {
  const { id, version, state, approvedBy } = skill;
  if (print.json) print.document({ ...skillDocument(skill), reviewersMissing });
  else if (reviewersMissing > 0) {
    const more = reviewersMissing === 1 ? 'one more reviewer' : `${reviewersMissing} more reviewers`;
    print.note('agreed', 'yellow', `  ${id}@${version} waits for ${more}; so far ${approvedBy.join(', ')}`);
    print.note(
      '→',
      'cyan',
      ` each approves the same grant: palisade skill approve ${id}@${version} --as user:NAME`,
    );
  } else {
    print.note('approved', 'green', `  ${id}@${version} by ${approvedBy.join(', ')}; it is ${state}`);
    const next = state === 'active' ? `palisade tools list` : `palisade skill enable ${id}@${version}`;
    print.note('→', 'cyan', ` ${next}`);
  }
}
