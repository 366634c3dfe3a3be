import { once } from 'node:events';
import { isoTime } from '../../../core/clock.ts';
import { digestValue } from '../../../core/digest.ts';
import { requireSkill } from '../../../invoke/skills/skill-acts.ts';
import { compareSkill } from '../../../operations/compare-skill.ts';
import { shownSkillDocument } from '../../../operations/skill-document.ts';
import { versionsOf } from '../../../skills/index/read.ts';
import type { InstalledSkill, SkillSummary } from '../../../skills/index/skill.ts';
import { SKILL_STATES, type SkillState } from '../../../skills/lifecycle.table.ts';
import type { ManifestTool } from '../../../skills/manifest/manifest.ts';
import { choiceOf, numberOf, textOf, wrongUsage } from '../input.ts';
import { actAs, withGateway, withRecords } from '../opened.ts';
import { operate } from '../operate.ts';
import { replaceFile } from '../out-file.ts';
import type { Printer } from '../printer.ts';
import { openPackageFile, parseReference, readVersion } from '../skill/package-file.ts';
import { printAsks, printDifference, riskWith, signerNow, summaryOfReport } from '../skill/print-skill.ts';
import type { Invocation } from '../verb.ts';

const CURSOR = /^[a-z0-9.-]{1,64}:[0-9]{1,15}$/;
const PAGE = 20;
const DIGEST_CHARS = 12;
const STATES = Object.keys(SKILL_STATES) as SkillState[];
const NEXT: Readonly<Partial<Record<SkillState, string>>> = {
  quarantined: 'approve',
  approved: 'enable',
  disabled: 'enable',
};

export async function list(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1000, absent: PAGE });
  const state = choiceOf(invocation, 'only', STATES);
  const input = { limit, state, cursor: cursorOf(invocation) };
  const page = await operate(invocation, 'listSkills', input);
  const { skills, cursor } = page;
  return print.result(page, () => {
    if (skills.length === 0)
      print.line(state === undefined ? 'No skill is installed.' : `No skill is ${state}.`);
    else {
      print.table(
        ['ID', 'VERSION', 'STATE', 'PUBLISHER', 'AUDIT', 'TOOLS', 'CHANGED'],
        skills.map(({ id, version, state: is, publisher, verdict, tools, changedAt }) => [
          ...[id, version, is, publisher, verdict ?? '-', String(tools), changedAt],
        ]),
      );
    }
    const flags = `${state === undefined ? '' : ` --only ${state}`}${limit === PAGE ? '' : ` --limit ${limit}`}`;
    if (cursor !== null) print.note(`More: palisade skill list${flags} --cursor ${cursor}`);
  });
}

function cursorOf(invocation: Invocation): string | undefined {
  const raw = textOf(invocation, 'cursor');
  if (raw === undefined || CURSOR.test(raw)) return raw;
  throw wrongUsage(`Cannot use --cursor "${raw}": expected the cursor that the page before printed`);
}

export async function show(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  const named = parseReference(args[0] ?? '');
  return withRecords(invocation, ({ store, config }) => {
    const skill = requireSkill(store, named, ['active']);
    const versions = versionsOf(store, skill.id);
    return print.result(shownSkillDocument(skill, versions), () => {
      const signer = signerNow(store, skill, edge.clock.nowMs());
      printSkill(print, { skill, versions, signer, reviewers: config.skills.reviewers });
    });
  });
}

type Shown = {
  readonly skill: InstalledSkill;
  readonly versions: readonly SkillSummary[];
  readonly signer: string;
  /** What the operator requires of every skill. */
  readonly reviewers: number;
};

function printSkill(print: Printer, shown: Shown): void {
  const { skill } = shown;
  const { id, version, state, manifest, grant } = skill;
  print.styled('bold', `${id}@${version}`, `  ${state}`);
  for (const [name, text] of rowsOf(shown)) print.line(`${name.padEnd(11)}${text}`);
  print.line();
  print.styled('bold', 'tools');
  print.table(
    ['TOOL', 'RISK', 'MODULE', 'EXPORT', 'INPUT', 'OUTPUT', 'WHAT IT DOES'],
    manifest.tools.map((tool) => toolCells(skill, tool)),
  );
  print.line();
  print.styled('bold', grant === null ? 'requests' : 'requests, and what of them is granted');
  printAsks(print, manifest, grant);
  const next = NEXT[state];
  if (next !== undefined) print.next(`palisade skill ${next} ${id}@${version}`);
  print.next('history of skills: palisade journal search --kind skill-changed');
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
    ['approved', approvedBy.length === 0 ? 'by no one' : `by ${approvedBy.join(', ')}`],
    ['reviewers', requiredReviewers(manifest.trust.reviewers, reviewers)],
  ];
  if (others.length > 0)
    rows.push(['versions', others.map(({ version, state }) => `${version} (${state})`).join(', ')]);
  return rows;
}

function requiredReviewers(ofSkill: number, ofOperator: number): string {
  const more = ofOperator > ofSkill ? `; skills.reviewers of palisade.toml requires ${ofOperator}` : '';
  return `the skill requires ${ofSkill}${more}`;
}

function toolCells({ id: skill, grant }: InstalledSkill, tool: ManifestTool): readonly string[] {
  const { id, risk, module, description, inputSchema, outputSchema } = tool;
  const digests = [inputSchema, outputSchema].map((schema) => digestValue(schema).slice(0, DIGEST_CHARS));
  return [`${skill}.${id}`, riskWith(risk, grant), module, tool.export, ...digests, description];
}

/** Shows what one version has that another does not. */
export async function diff(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [raw = '', path] = args;
  const named = parseReference(raw);
  const [from, to] = [versionFlag(invocation, 'from'), versionFlag(invocation, 'to') ?? named.version];
  if (path !== undefined && to !== null)
    throw wrongUsage('Cannot compare: both a package and a version are named, expected one of them');
  const file = path === undefined ? null : await openPackageFile(invocation, path);
  return actAs(invocation, async (gateway) => {
    const comparison = await compareSkill(gateway, { id: named.id, from, to, file });
    return print.result(comparison, () => {
      const what = comparison.against === 'asked' ? 'what was requested' : 'what was granted';
      const title = `${comparison.id}  ${comparison.from} → ${comparison.to}`;
      print.styled('bold', title, `  against ${what} in ${comparison.from}`);
      printDifference(print, comparison);
    });
  });
}

function versionFlag(invocation: Invocation, name: 'from' | 'to'): string | null {
  const raw = textOf(invocation, name);
  return raw === undefined ? null : readVersion(raw);
}

/** Gives the exact bytes of an installed package; they are compared with their digest before the first one is written. */
export async function exportSkill(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  const named = parseReference(args[0] ?? '');
  const file = textOf(invocation, 'out');
  if (file === undefined && edge.stdout.isTTY === true)
    throw wrongUsage('Cannot print a package: standard output is a terminal, expected --out FILE or a pipe');
  return withGateway(invocation, async ({ store, skills }) => {
    const { id, version, artifact } = requireSkill(store, named, ['active']);
    const bytes = skills.artifacts.read(artifact);
    if (file === undefined) {
      if (!edge.stdout.write(bytes)) await once(edge.stdout, 'drain');
      return 0;
    }
    replaceFile(file, bytes);
    return print.result({ id, version, artifact, file, bytes: bytes.length }, () => {
      const size = `${bytes.length} bytes, sha256 ${artifact}`;
      print.note('exported', 'green', `  ${id}@${version} to ${file}, ${size}`);
    });
  });
}
