import { acceptClock } from '../../../invoke/administer.ts';
import { examine, examineGateway, recordFindings } from '../../../operations/findings.ts';
import { principalOf } from '../input.ts';
import { withGateway, withRecords } from '../opened.ts';
import type { Invocation } from '../verb.ts';

/** The exit status where something is wrong. */
const PROBLEM_STATUS = 2;
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
    for (const { name, state, detail, remedy } of report.findings) {
      const [style, mark] = MARKS[state];
      print.styled(style, mark, `${name}: ${detail}`);
      if (remedy !== null) print.styled('cyan', '  → ', remedy);
    }
  });
  return report.ok ? 0 : PROBLEM_STATUS;
}
