import { quote } from '../../../core/hostile-text.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { counted, type Printer } from '../printer.ts';

/* Skills as people read them, from the documents of the operations. */

type ShownSkill = ResultOf<'getSkill'>;
type AuditReport = Omit<ResultOf<'auditSkill'>, 'state' | 'reason'>;
type AuditFinding = AuditReport['findings'][number];
type SkillDifference = NonNullable<ResultOf<'installSkill'>['difference']>;

/** In the order in which they are printed. */
const SEVERITIES = [
  { severity: 'refusal', title: 'must not run', style: 'red', mark: '✗ ' },
  { severity: 'warning', title: 'must be accepted by a reviewer', style: 'yellow', mark: '! ' },
  { severity: 'note', title: 'good to know', style: 'cyan', mark: '· ' },
] as const;

/** The findings of one severity. */
export function findingsOf(
  { findings }: Pick<AuditReport, 'findings'>,
  severity: AuditFinding['severity'],
): readonly AuditFinding[] {
  return findings.filter((finding) => finding.severity === severity);
}

/** The result of an audit in short, as in `passed, 2 warnings`. */
export function summaryOfReport(report: Pick<AuditReport, 'verdict' | 'findings'>): string {
  const counts = SEVERITIES.flatMap(({ severity }) => {
    const count = findingsOf(report, severity).length;
    return count === 0 ? [] : [counted(count, severity)];
  });
  return [report.verdict, ...counts].join(', ');
}

/** Prints the report of an audit: what was checked, every finding with its remedy, and the verdict last. */
export function printReportOf(print: Printer, report: AuditReport): void {
  print.styled('bold', `${report.skill}@${report.version}`, `  sha256 ${report.artifact}`);
  const { passed, failed, notRun } = report.cases ?? {};
  const counts = `test cases: ${passed} passed, ${failed} failed, ${notRun} not run`;
  const cases = report.cases === null ? 'its test cases were not run' : counts;
  print.line(`${report.checks} checks of palisade ${report.palisade}; ${cases}`);
  printFindings(print, report);
  printImports(print, report.modules ?? []);
  print.line();
  if (report.verdict === 'passed') print.styled('green', 'passed', `  ${countOf(report)}`);
  else print.styled('red', 'failed', `  ${countOf(report)}; it cannot be approved`);
}

/** What each module can use, whatever is granted to the skill. */
function printImports(print: Printer, modules: NonNullable<AuditReport['modules']>): void {
  if (modules.length === 0) return;
  print.heading('what its modules import');
  for (const { path, imports } of modules) {
    const functions = imports === null ? 'unknown: its tools get the whole grant' : imports.join(', ');
    print.line(`${path}  ${functions || 'nothing: its tools only compute'}`);
  }
}

/** Prints the findings alone, the most severe first. */
export function printFindings(print: Printer, report: Pick<AuditReport, 'findings'>): void {
  for (const { severity, title, style, mark } of SEVERITIES) {
    const found = findingsOf(report, severity);
    if (found.length === 0) continue;
    print.heading(title);
    for (const { id, where, sentence, remedy } of found) {
      print.styled(style, mark, `${where}: ${sentence} (${id})`);
      print.styled('cyan', '  → ', remedy);
    }
  }
}

function countOf(report: AuditReport): string {
  const [, ...counts] = summaryOfReport(report).split(', ');
  return counts.length === 0 ? 'no findings' : counts.join(', ');
}

const MARKS = {
  open: ['yellow', '? '],
  granted: ['green', '✓ '],
  narrowed: ['yellow', '~ '],
  withheld: ['red', '✗ '],
} as const;
const QUOTAS = { wallMs: 'ms of wall clock', fuel: 'fuel', memoryBytes: 'bytes of memory' } as const;

/** What a skill requests, and what of it is or will be granted. */
type Asks = Pick<ShownSkill, 'capabilities' | 'quotas' | 'grant'>;

/** Prints every requested capability with what of it is or will be granted, then the limits. */
export function printAsks(print: Printer, { capabilities, quotas, grant }: Asks): void {
  if (capabilities.length === 0) print.line('It requests no capability: it can only compute.');
  const width = Math.max(...capabilities.map(({ spelling }) => spelling.length), 0);
  for (const row of capabilities) {
    const [style, mark] = MARKS[row.stand];
    print.styled(style, mark, `${row.spelling.padEnd(width)}  ${row.sentence}${remarkOn(row)}`);
  }
  for (const { spelling } of capabilities) {
    const [, key] = /^config:(.*)$/s.exec(spelling) ?? [];
    if (key !== undefined && grant !== null && !Object.hasOwn(grant.wasm.config ?? {}, key))
      print.styled('yellow', '! ', `${spelling} has no value; set it with --config ${key}=VALUE`);
  }
  print.line(`limits: ${limitsInWords(quotas, grant)}`);
}

function remarkOn({ stand, granted, isReaching }: ShownSkill['capabilities'][number]): string {
  if (!isReaching) return ' (always granted)';
  if (stand === 'narrowed') return ` (only ${granted.join(', ')})`;
  return stand === 'withheld' ? ' (withheld)' : '';
}

function limitsInWords(quotas: Asks['quotas'], grant: Asks['grant']): string {
  const terms = (Object.keys(QUOTAS) as (keyof typeof QUOTAS)[]).flatMap((term) => {
    const [asked, granted] = [quotas[term], grant === null ? undefined : (grant.limits[term] ?? null)];
    if (granted === undefined || granted === asked) return asked === null ? [] : [`${asked} ${QUOTAS[term]}`];
    return [`${granted ?? 'no'} ${QUOTAS[term]} (requested: ${asked ?? 'none'})`];
  });
  return terms.join(', ') || 'the defaults of the gateway';
}

const CHANGED_QUOTAS = { wallMs: 'wall clock in ms', fuel: 'fuel', memoryBytes: 'memory in bytes' } as const;
const STYLES = { '+': 'green', '-': 'red', '@': 'dim', ' ': 'dim' } as const;

/** Prints how a version differs from another, wider permissions first. */
export function printDifference(print: Printer, difference: SkillDifference): void {
  const { widens, capabilities, quotas, reviewers, tools, config, prose } = difference;
  if (widens) print.styled('yellow', '! ', 'it requests more than before');
  else print.styled('green', '✓ ', 'it requests no more than before');
  const changed = tools.changed.flatMap(({ id, what }) => what.map((each) => `~ ${id}: ${each}`));
  const sections = {
    capabilities: addedAndRemoved(capabilities),
    quotas: quotas.map(
      ({ name, before, after }) => `~ ${CHANGED_QUOTAS[name]}: ${before ?? 'none'} → ${after ?? 'none'}`,
    ),
    reviewers: reviewers === null ? [] : [`~ ${reviewers.before} → ${reviewers.after}`],
    tools: [...addedAndRemoved(tools), ...changed],
    configuration: [
      ...addedAndRemoved(config),
      ...Object.entries(config.kept).map(([key, value]) => `  ${key} is kept: ${quote(value)}`),
    ],
    'SKILL.md': prose.changed ? prose.lines : [],
  };
  for (const [title, lines] of Object.entries(sections)) printSection(print, title, lines);
  const isSame = Object.values(sections).every((lines) => lines.length === 0);
  if (isSame && !prose.changed) print.line('No declared property has changed.');
}

function printSection(print: Printer, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  print.heading(title);
  for (const line of lines) {
    const [sign = ' '] = line;
    print.styled(Object.hasOwn(STYLES, sign) ? STYLES[sign as keyof typeof STYLES] : 'yellow', line);
  }
}

function addedAndRemoved({ added, removed }: Pick<SkillDifference['tools'], 'added' | 'removed'>) {
  return [...added.map((name) => `+ ${name}`), ...removed.map((name) => `- ${name}`)];
}

type ShownTool = Pick<ShownSkill['tools'][number], 'id' | 'risk' | 'reach'>;

/** Prints the tools with the risk that policies see, and what each can use. */
export function printReach(print: Printer, tools: readonly ShownTool[]): void {
  for (const { id, risk, reach } of tools) {
    const { capabilities, hosts } = reach;
    const because = reach.risk === risk ? '' : `, because of the grant (its manifest says ${risk})`;
    const uses = capabilities.length === 0 ? 'only computes' : `uses ${capabilities.join(', ')}`;
    const where = hosts.length === 0 ? '' : `; reaches ${hosts.join(', ')}`;
    print.styled(
      reach.risk === 'low' ? 'green' : 'yellow',
      id,
      `  risk ${reach.risk}${because}; ${uses}${where}`,
    );
  }
}

const TRUSTED = { operator: 'trusted by an operator', 'first-use': 'trusted on first use' } as const;

type Signed = Pick<ShownSkill, 'publisher' | 'keyId' | 'trust'> & { readonly keyState?: string };

/** Who signed a skill, and the state of that key where it is known. */
export function signerOf({ publisher, keyId, trust, keyState = 'trusted' }: Signed): string {
  return `${publisher}, key ${keyId}, ${keyState === 'trusted' ? TRUSTED[trust] : keyState}`;
}
