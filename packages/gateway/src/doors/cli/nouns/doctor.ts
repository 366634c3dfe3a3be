import { acceptClock } from '../../../invoke/administer.ts';
import { examine, examineGateway, type Finding, recordFindings } from '../../../operations/findings.ts';
import { principalOf } from '../input.ts';
import { withGateway, withRecords } from '../opened.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** The exit status where something is wrong. */
export const PROBLEM_STATUS = 2;
const MARKS = { ok: ['green', '✓ '], warning: ['yellow', '! '], problem: ['red', '✗ '] } as const;

/** Answers also where the gateway, or even the records, cannot be opened, which no operation could. */
export async function doctor(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const report = await examine(
    () =>
      withRecords(invocation, (records) => {
        if (flags['accept-clock'] === true) acceptClock(records, principalOf(invocation));
        return recordFindings(records, invocation.stateDir);
      }),
    () => withGateway(invocation, examineGateway),
  );
  print.result(report, () => {
    for (const finding of report.findings) printFinding(print, finding);
  });
  return report.ok ? 0 : PROBLEM_STATUS;
}

export function printFinding(print: Printer, finding: Finding, indent = ''): void {
  const { name, state, detail, remedy } = finding;
  const [style, mark] = MARKS[state];
  print.styled(style, `${indent}${mark}`, `${name}: ${detail}`);
  if (remedy !== null) print.styled('cyan', `${indent}  → `, remedy);
}
