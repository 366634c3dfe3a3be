import { isoTime } from '../../../core/clock.ts';
import { digestValue } from '../../../core/digest.ts';
import { requireSkill } from '../../../invoke/skills/skill-acts.ts';
import { shownSkillDocument } from '../../../operations/skill-document.ts';
import { versionsOf } from '../../../skills/index/read.ts';
import type { InstalledSkill, SkillSummary } from '../../../skills/index/skill.ts';
import type { ManifestTool } from '../../../skills/manifest/manifest.ts';
import type { Printer } from '../printer.ts';
import { printAsks } from '../skill/operate/print-asks.ts';
import { summaryOfReport } from '../skill/operate/print-report.ts';
import { parseReference } from '../skill/operate/reference.ts';
import { riskWith } from '../skill/operate/risk-with.ts';
import { signerNow } from '../skill/operate/trust-now.ts';
import type { Invocation } from '../verb.ts';

const DIGEST_CHARS = 12;
const NEXT: Readonly<Partial<Record<InstalledSkill['state'], string>>> = {
  quarantined: 'approve',
  approved: 'enable',
  disabled: 'enable',
};

export async function run({ args, print, edge, openRecords }: Invocation): Promise<number> {
  const named = parseReference(args[0] ?? '');
  const records = await openRecords();
  try {
    const skill = requireSkill(records.store, named, ['active']);
    const versions = versionsOf(records.store, skill.id);
    if (print.json) {
      print.document(shownSkillDocument(skill, versions));
      return 0;
    }
    const signer = signerNow(records.store, skill, edge.clock.nowMs());
    const { reviewers } = records.config.skills;
    show(print, { skill, versions, signer, reviewers });
    return 0;
  } finally {
    await records.close();
  }
}

type Shown = {
  readonly skill: InstalledSkill;
  readonly versions: readonly SkillSummary[];
  readonly signer: string;
  /** That the operator wants of every skill. */
  readonly reviewers: number;
};

function show(print: Printer, shown: Shown): void {
  const { skill } = shown;
  const { id, version, state, manifest, grant } = skill;
  print.styled('bold', `${id}@${version}`, `  ${state}`);
  for (const [name, text] of rowsOf(shown)) print.line(`${name.padEnd(11)}${text}`);
  print.line();
  print.styled('bold', 'tools');
  print.table(
    ['TOOL', 'RISK', 'MODULE', 'EXPORT', 'INPUT', 'OUTPUT', 'WHAT IT DOES'],
    manifest.tools.map((tool) => toolRow(skill, tool)),
  );
  print.line();
  print.styled('bold', grant === null ? 'asks for' : 'asks for, and what of it is granted');
  printAsks(print, manifest, grant);
  const next = NEXT[state];
  if (next !== undefined) print.note('→', 'cyan', ` palisade skill ${next} ${id}@${version}`);
  print.note('→', 'cyan', ' what became of skills: palisade journal search --kind skill-changed');
}

function rowsOf({ skill, versions, signer, reviewers }: Shown): readonly [string, string][] {
  const { manifest, report, approvedBy, reason, auditedAtMs } = skill;
  const others = versions.filter(({ version }) => version !== skill.version);
  const why = reason === null ? '' : `: ${reason}`;
  const audited = auditedAtMs === null ? '' : `, at ${isoTime(auditedAtMs)}`;
  const rows: [string, string][] = [
    ['name', skill.name],
    ['about', manifest.description],
    ['publisher', signer],
    ['sha256', skill.artifact],
    ['installed', `${isoTime(skill.installedAtMs)} by ${skill.installedBy}`],
    ['changed', `${isoTime(skill.changedAtMs)} by ${skill.changedBy}${why}`],
    ['audit', report === null ? 'not yet' : `${summaryOfReport(report)}${audited}`],
    ['approved', approvedBy.length === 0 ? 'by nobody' : `by ${approvedBy.join(', ')}`],
    ['reviewers', reviewersInWords(manifest.trust.reviewers, reviewers)],
  ];
  if (others.length > 0)
    rows.push(['versions', others.map(({ version, state }) => `${version} (${state})`).join(', ')]);
  return rows;
}

function reviewersInWords(asked: number, wanted: number): string {
  return `it wants ${asked}${wanted > asked ? `; skills.reviewers of palisade.toml wants ${wanted}` : ''}`;
}

function toolRow({ id: skill, grant }: InstalledSkill, tool: ManifestTool): readonly string[] {
  const { id, risk, module, description, inputSchema, outputSchema } = tool;
  const [input, output] = [inputSchema, outputSchema].map((schema) =>
    digestValue(schema).slice(0, DIGEST_CHARS),
  );
  const name = `${skill}.${id}`;
  return [name, riskWith(risk, grant), module, tool.export, input ?? '', output ?? '', description];
}
