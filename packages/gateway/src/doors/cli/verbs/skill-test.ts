import { CodedError } from '../../../core/coded-error.ts';
import { type CaseResult, runCases } from '../../../invoke/skills/run-cases.ts';
import { principalOf } from '../input.ts';
import { printError } from '../print-error.ts';
import type { Printer } from '../printer.ts';
import { finishUnread } from '../skill/operate/act.ts';
import { packageOf } from '../skill/package-file.ts';
import type { Invocation } from '../verb.ts';

/** Runs the cases of a package as calls of whoever tests; the same that an audit runs. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, print, signal } = invocation;
  const by = principalOf(invocation);
  finishUnread(invocation);
  const { pkg } = await packageOf(invocation);
  const gateway = await invocation.openGateway();
  try {
    const results = await runCases(gateway, {
      ...{ pkg, by, tenant: gateway.config.gateway.tenant, signal },
      withCapabilities: flags['with-capabilities'] === true,
      onCase: (result) => tellCase(print, result),
    });
    return tellAll(print, pkg.manifest.id, results);
  } finally {
    await gateway.close();
  }
}

const MARKS = {
  passed: ['green', '✓'],
  failed: ['red', '✗'],
  'not-run': ['yellow', '·'],
} as const;

function tellCase(print: Printer, { case: tried, verdict, why, fuel }: CaseResult): void {
  const [style, mark] = MARKS[verdict];
  const isMeasured = verdict === 'passed' && fuel > 0;
  const used = verdict === 'not-run' ? `  not run: ${why}` : isMeasured ? `  ${fuel} fuel` : '';
  print.styled(style, mark, ` ${tried.tool}: ${tried.name}${used}`);
  if (verdict === 'failed') print.line(`    ${tried.file}: ${why}`);
}

function tellAll(print: Printer, skill: string, results: readonly CaseResult[]): number {
  const count = (verdict: CaseResult['verdict']) => results.filter((each) => each.verdict === verdict).length;
  const counts = { passed: count('passed'), failed: count('failed'), notRun: count('not-run') };
  const cases = results.map(({ case: { name, file, tool }, ...rest }) => ({ name, file, tool, ...rest }));
  const details = { skill, ...counts, cases };
  if (counts.failed > 0) {
    const message = `Cannot pass: ${counts.failed} of ${results.length} cases of ${skill} ended otherwise, expected none`;
    return printError(print, new CodedError('skill/tests-failed', message), details);
  }
  if (print.json) print.document({ status: 'ok', code: 'ok', ...details });
  print.line(
    results.length === 0
      ? 'There are no cases: put some into tests/NAME.json.'
      : `${counts.passed} passed, ${counts.notRun} not run`,
  );
  return 0;
}
