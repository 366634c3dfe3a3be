import type { AuditFinding, AuditReport, AuditSeverity } from '../../../../skills/audit/check.ts';
import type { Printer } from '../../printer.ts';

/** In the order in which they are read, with what each is called and how it looks. */
const SEVERITIES = [
  { severity: 'refusal', title: 'must not run', style: 'red', mark: '✗ ' },
  { severity: 'warning', title: 'for a person to accept', style: 'yellow', mark: '! ' },
  { severity: 'note', title: 'good to know', style: 'cyan', mark: '· ' },
] as const;

/** The findings of one severity. */
export function findingsOf(
  { findings }: Pick<AuditReport, 'findings'>,
  severity: AuditSeverity,
): readonly AuditFinding[] {
  return findings.filter((finding) => finding.severity === severity);
}

/** What an audit found in a few words, as in `passed, 2 warnings`. */
export function summaryOfReport(report: AuditReport): string {
  const counts = SEVERITIES.flatMap(({ severity }) => {
    const count = findingsOf(report, severity).length;
    return count === 0 ? [] : [`${count} ${severity}${count === 1 ? '' : 's'}`];
  });
  return [report.verdict, ...counts].join(', ');
}

/** Prints the report of an audit: what was looked at, every finding with what to do, and the verdict where it is read. */
export function printReportOf(print: Printer, report: AuditReport): void {
  print.styled('bold', `${report.skill}@${report.version}`, `  sha256 ${report.artifact}`);
  print.line(`${report.checks} checks of palisade ${report.palisade}; ${casesOf(report)}`);
  printFindings(print, report);
  print.line();
  if (report.verdict === 'passed') print.styled('green', 'passed', `  ${countOf(report)}`);
  else print.styled('red', 'failed', `  ${countOf(report)}; it cannot be approved`);
}

/** Prints the findings alone, the gravest first. */
export function printFindings(print: Printer, report: Pick<AuditReport, 'findings'>): void {
  for (const { severity, title, style, mark } of SEVERITIES) {
    const found = findingsOf(report, severity);
    if (found.length === 0) continue;
    print.line();
    print.styled('bold', title);
    for (const { id, where, sentence, remedy } of found) {
      print.styled(style, mark, `${where}: ${sentence} (${id})`);
      print.styled('cyan', '  → ', remedy);
    }
  }
}

function casesOf({ cases }: AuditReport): string {
  if (cases === null) return 'its test cases were not run';
  const { passed, failed, notRun } = cases;
  return `test cases: ${passed} passed, ${failed} failed, ${notRun} not run`;
}

function countOf(report: AuditReport): string {
  const [, ...counts] = summaryOfReport(report).split(', ');
  return counts.length === 0 ? 'nothing was found' : counts.join(', ');
}
