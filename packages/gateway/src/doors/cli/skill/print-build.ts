import type { CallLog } from '../../../core/call-log.ts';
import type { CaseResult } from '../../../invoke/skills/run-cases.ts';
import { linesOfLog } from '../print-log.ts';
import type { Printer } from '../printer.ts';
import type { BuiltModule } from './build-modules.ts';

/* How builds and test cases are shown. */

export function printBuilt(print: Printer, { module, source, bytes, wallMs, callId }: BuiltModule): void {
  print.styled('green', 'built', `  ${module} from ${source}  ${bytes} bytes  ${wallMs} ms  ${callId}`);
}

/** The output is untrusted text: each line is indented, so that none looks like a line of palisade. */
export function printCompilerOutput(print: Printer, output: string): void {
  for (const line of print.json ? [] : output.split(/\r?\n/))
    print.note(`  ${line.replaceAll('\t', '    ')}`);
}

const MARKS = { passed: ['green', '✓'], failed: ['red', '✗'], 'not-run': ['yellow', '·'] } as const;

/** The host calls that were denied, with what to do about each. */
export function printDenials(print: Printer, log: CallLog | null): void {
  if (log === null) return;
  for (const line of linesOfLog({ ...log, lines: [], isCut: false, trap: [] })) print.line(`    ${line}`);
}

export function printCase(print: Printer, { case: tried, verdict, why, fuel, log }: CaseResult): void {
  const [style, mark] = MARKS[verdict];
  const isMeasured = verdict === 'passed' && fuel > 0;
  const used = verdict === 'not-run' ? `  not run: ${why}` : isMeasured ? `  ${fuel} fuel` : '';
  print.styled(style, mark, ` ${tried.tool}: ${tried.name}${used}`);
  // A denial may be what a passed case is about, or a mistake that nobody notices otherwise.
  if (verdict !== 'failed') {
    printDenials(print, log);
    return;
  }
  print.line(`    ${tried.file}: ${why}`);
  for (const line of log === null ? [] : linesOfLog(log)) print.line(`    ${line}`);
}
