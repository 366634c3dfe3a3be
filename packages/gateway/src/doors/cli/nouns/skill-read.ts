import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { digestValue } from '../../../core/digest.ts';
import { compareSkill } from '../../../operations/compare-skill.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { SKILL_STATES, type SkillState } from '../../../skills/lifecycle.table.ts';
import { choiceOf, pageOf, parsedOf, textOf, wrongUsage } from '../input.ts';
import { actAs, withGateway } from '../opened.ts';
import { operate, operateOn, operationVerb } from '../operate.ts';
import { replaceFile } from '../out-file.ts';
import type { FactRow, Printer } from '../printer.ts';
import { openNamedPackage, parseReference, readVersion } from '../skill/package-file.ts';
import { printAsks, printDifference, printReach, signerOf, summaryOfReport } from '../skill/print-skill.ts';
import type { Invocation } from '../verb.ts';

const CURSOR = /^[a-z0-9.-]{1,64}:[0-9]{1,15}$/;
const PAGE = 20;
const DIGEST_CHARS = 12;
const STATES = Object.keys(SKILL_STATES) as SkillState[];
const NEXT: Readonly<Partial<Record<SkillState, string>>> = {
  quarantined: 'approve',
  approved: 'enable',
  disabled: 'enable',
  failed: 'enable',
};

export const list = operationVerb(
  'listSkills',
  (invocation) => {
    const { limit } = pageOf(invocation);
    const state = choiceOf(invocation, 'only', STATES);
    const read = (raw: string) => (CURSOR.test(raw) ? raw : null);
    return {
      limit,
      state,
      cursor: parsedOf(invocation, 'cursor', read, 'the cursor that the page before printed'),
    };
  },
  ({ skills, cursor }, invocation) => {
    const { print, flags } = invocation;
    print.table(
      ['ID', 'VERSION', 'STATE', 'PUBLISHER', 'AUDIT', 'TOOLS', 'CHANGED'],
      skills.map(({ id, version, state, publisher, verdict, tools, changedAt }) => [
        ...[id, version, state, publisher, verdict, tools, changedAt],
      ]),
      flags.only === undefined ? 'No skill is installed.' : `No skill is ${flags.only}.`,
    );
    const { limit } = pageOf(invocation);
    const only = flags.only === undefined ? '' : ` --only ${flags.only}`;
    print.more(`palisade skill list${only}${limit === PAGE ? '' : ` --limit ${limit}`} --cursor`, cursor);
  },
);

export const show = operationVerb(
  'getSkill',
  ({ args: [raw = ''] }) => parseReference(raw),
  (skill, { print }) => printSkill(print, skill),
);

type ShownSkill = ResultOf<'getSkill'>;

function printSkill(print: Printer, skill: ShownSkill): void {
  const { id, version, state, grant } = skill;
  print.styled('bold', `${id}@${version}`, `  ${state}`);
  print.facts(rowsOf(skill));
  print.heading('tools');
  print.table(
    ['TOOL', 'RISK', 'MODULE', 'EXPORT', 'INPUT', 'OUTPUT', 'WHAT IT DOES'],
    skill.tools.map((tool) => toolCells(tool)),
  );
  print.heading(
    grant === null ? 'what its tools could do with all that it requests' : 'what its tools can do',
  );
  printReach(print, skill.tools);
  print.heading(grant === null ? 'requests' : 'requests, and what of them is granted');
  printAsks(print, skill);
  const next = NEXT[state];
  if (next !== undefined) print.next(`palisade skill ${next} ${id}@${version}`);
  print.next('history of skills: palisade journal search --kind skill-changed');
}

function rowsOf(skill: ShownSkill): readonly FactRow[] {
  const { report, approvedBy, reason, auditedAt } = skill;
  const others = skill.versions.filter(({ version }) => version !== skill.version);
  const why = reason === null ? '' : `: ${reason}`;
  const audited = auditedAt === null ? '' : `, at ${auditedAt}`;
  const { review, reviewersRequired } = skill;
  const ofOperator = `; skills.reviewers of palisade.toml requires ${reviewersRequired}`;
  const more = reviewersRequired > review.reviewers ? ofOperator : '';
  const versions = others.map(({ version, state }) => `${version} (${state})`).join(', ');
  return [
    ['name', skill.name],
    ['about', skill.description],
    ['publisher', signerOf(skill)],
    ['sha256', skill.artifact],
    ['installed', `${skill.installedAt} by ${skill.installedBy}`],
    ['changed', `${skill.changedAt} by ${skill.changedBy}${why}`],
    ['audit', report === null ? 'not yet' : `${summaryOfReport(report)}${audited}`],
    ['approved', approvedBy.length === 0 ? 'by no one' : `by ${approvedBy.join(', ')}`],
    ['reviewers', `the skill requires ${review.reviewers}${more}`],
    ...(versions === '' ? [] : [['versions', versions] as const]),
  ];
}

function toolCells(tool: ShownSkill['tools'][number]): readonly string[] {
  const { id, reach, module, description, inputSchema, outputSchema } = tool;
  const digests = [inputSchema, outputSchema].map((schema) => digestValue(schema).slice(0, DIGEST_CHARS));
  return [id, reach.risk, module, tool.export, ...digests, description];
}

/** Shows what one version has that another does not. A package of the caller is compared here: no operation takes one. */
export async function diff(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [raw = '', path] = args;
  const { id, version } = parseReference(raw);
  const [from, to = version] = ['from', 'to'].map((name) => {
    const given = textOf(invocation, name);
    return given === undefined ? undefined : readVersion(given);
  });
  if (path !== undefined && to !== undefined)
    throw wrongUsage('Cannot compare: both a package and a version are named, expected one of them');
  const file = path === undefined ? null : (await openNamedPackage(invocation, path)).pkg;
  const comparison =
    file === null
      ? await operate(invocation, 'compareSkill', { id, from, to })
      : await actAs(invocation, (gateway) =>
          compareSkill(gateway, { id, from: from ?? null, to: null, file }),
        );
  return print.result(comparison, () => {
    const what = comparison.against === 'asked' ? 'what was requested' : 'what was granted';
    const title = `${comparison.id}  ${comparison.from} → ${comparison.to}`;
    print.styled('bold', title, `  against ${what} in ${comparison.from}`);
    printDifference(print, comparison);
  });
}

/** Gives the exact bytes of an installed package; they are compared with their digest before the first one is written. */
export async function exportSkill(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  const named = parseReference(args[0] ?? '');
  const file = textOf(invocation, 'out');
  if (file === undefined && edge.stdout.isTTY === true)
    throw wrongUsage('Cannot print a package: standard output is a terminal, expected --out FILE or a pipe');
  return withGateway(invocation, async (gateway) => {
    const { id, version, artifact } = await operateOn(invocation, gateway, 'getSkill', named);
    const { chunks } = await operateOn(invocation, gateway, 'getSkillPackage', { id, version });
    const bytes = await buffer(chunks);
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
